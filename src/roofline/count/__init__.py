"""What a step costs, as data: steps, their quantities, and operators over them."""
