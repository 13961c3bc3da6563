//! What a person says to an agent: corrections, directions, the beginning and the end of a task.
