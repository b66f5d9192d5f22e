"""What requests do: one module for each way of reading or changing objects, and `rest`, which chooses among them."""
