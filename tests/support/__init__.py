"""What the tests share: private Redis servers, a faulty network, waiting for a condition."""
