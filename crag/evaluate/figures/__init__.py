"""What many answers come to: metrics, their intervals, what differs between two variants, and all of that in words."""
