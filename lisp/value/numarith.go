package value

import "math/big"

// numOp is one operation in every rank.
type numOp struct {
	name   string
	bigs   func(t *Thread, x, y *big.Int) *big.Int
	rats   func(t *Thread, x, y *big.Rat) *big.Rat
	decs   func(t *Thread, x, y *BigDec) *BigDec
	floats func(x, y float64) float64
}

var opAdd = numOp{
	name: "+",
	bigs: func(t *Thread, x, y *big.Int) *big.Int {
		chargeLinear(t, x, y)
		return new(big.Int).Add(x, y)
	},
	rats: func(t *Thread, x, y *big.Rat) *big.Rat {
		chargeRat(t, x, y)
		return new(big.Rat).Add(x, y)
	},
	decs:   decAdd,
	floats: func(x, y float64) float64 { return x + y },
}

var opSub = numOp{
	name: "-",
	bigs: func(t *Thread, x, y *big.Int) *big.Int {
		chargeLinear(t, x, y)
		return new(big.Int).Sub(x, y)
	},
	rats: func(t *Thread, x, y *big.Rat) *big.Rat {
		chargeRat(t, x, y)
		return new(big.Rat).Sub(x, y)
	},
	decs:   decSub,
	floats: func(x, y float64) float64 { return x - y },
}

var opMul = numOp{
	name: "*",
	bigs: func(t *Thread, x, y *big.Int) *big.Int {
		chargeMul(t, x, y)
		return new(big.Int).Mul(x, y)
	},
	rats: func(t *Thread, x, y *big.Rat) *big.Rat {
		chargeRat(t, x, y)
		return new(big.Rat).Mul(x, y)
	},
	decs:   decMul,
	floats: func(x, y float64) float64 { return x * y },
}

// arith does op in the rank of a and b. Two integers come here only when their result has no room.
func arith(t *Thread, op *numOp, a, b Value, promote bool) Value {
	switch ranks(t, op.name, a, b) {
	case rankFloat:
		return Float(op.floats(ToFloat(t, a), ToFloat(t, b)))
	case rankDec:
		return Of(op.decs(t, decOf(t, a), decOf(t, b)))
	case rankRatio:
		return NewRatio(op.rats(t, ratOf(a), ratOf(b)))
	case rankBig:
		return NewBigInt(op.bigs(t, BigOf(a), BigOf(b)))
	}
	if !promote {
		panic(Errorf("ArithmeticException", "integer overflow"))
	}
	return Integer(op.bigs(t, BigOf(a), BigOf(b)))
}
