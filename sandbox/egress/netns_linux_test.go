package egress

func helper() bool { return false }
