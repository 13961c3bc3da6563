print("So long, and thanks for all the fish.")
