"""What keeps Redis small beside the pipeline: the janitor, retirement, relief."""
