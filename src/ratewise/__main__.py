"""`python -m ratewise`: the same as the command `ratewise`."""

from ratewise.cli.main import main

if __name__ == "__main__":
    main()
