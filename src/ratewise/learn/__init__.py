"""What is fitted to labels: calibration of G, models of u(x), plans and transfer files."""
