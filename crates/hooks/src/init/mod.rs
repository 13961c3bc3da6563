//! Sets a project up for hooks, and undoes it.
