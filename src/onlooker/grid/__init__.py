"""Many runs: the file that names them, Ray that runs them, the hours they take."""
