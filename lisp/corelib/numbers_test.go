package corelib

import (
	"strings"
	"testing"

	"github.com/reflection-dev/zeno/lisp/limit"
)

func TestArithmetic(t *testing.T) {
	evals(t, [][2]string{
		{"(+)", "0"}, {"(*)", "1"}, {"(+ 1 2 3 4)", "10"}, {"(- 5 3 1)", "1"}, {"(- 5)", "-5"}, {"(/ 2)", "1/2"},
		{"(/ 12 2 3)", "2"}, {"(/ 2 3)", "2/3"}, {"(/ -4 6)", "-2/3"}, {"(/ 1 3.0)", "0.3333333333333333"},
		{"(/ 4N 2)", "2N"}, {"(/ 1 0)", "!ArithmeticException: Divide by zero"}, {"(/ 1.0 0)", "##Inf"},
		{"(/ 0.0 0)", "##NaN"}, {"(/ -1.0 0)", "##-Inf"}, {"(-)", "!ArityException"},
		{"(+ 9223372036854775807 1)", "!ArithmeticException: integer overflow"},
		{"(- -9223372036854775808 1)", "!ArithmeticException: integer overflow"},
		{"(- -9223372036854775808)", "!ArithmeticException: integer overflow"},
		{"(* -1 -9223372036854775808)", "!ArithmeticException: integer overflow"},
		{"(inc 9223372036854775807)", "!ArithmeticException"}, {"(dec -9223372036854775808)", "!ArithmeticException"},
		{"(+' 9223372036854775807 1)", "9223372036854775808N"}, {"(-' -9223372036854775808 1)", "-9223372036854775809N"},
		{"(*' -1 -9223372036854775808)", "9223372036854775808N"}, {"(inc' 9223372036854775807)", "9223372036854775808N"},
		{"(-' -9223372036854775808)", "9223372036854775808N"}, {"(+' 1 2)", "3"},
		{"(- 9223372036854775808N 1)", "9223372036854775807N"}, {"(+ 1N 1.5)", "2.5"}, {"(+ 1 1/2)", "3/2"},
		{"(* 1/2 2)", "1N"}, {"(- 1/2 1/2)", "0N"}, {"(+ 1/2 0.5)", "1.0"}, {"(* 0 ##Inf)", "##NaN"},
		{"(+ nil 1)", "!NullPointerException: +: got nil, want a number"},
		{`(+ 1 "1")`, `!ClassCastException: +: got "1" (string), want a number`},
		{"(inc nil)", "!NullPointerException: inc: got nil"}, {"(< 1 nil)", "!NullPointerException: <: got nil"},
		{"(> :a 1)", "!ClassCastException: >: got :a (keyword)"}, {"(* 99999999999N 99999999999N)", "9999999999800000000001N"},
	})
}

func TestDecimals(t *testing.T) {
	evals(t, [][2]string{
		{"(+ 1.10M 2.20M)", "3.30M"}, {"(+ 1M 1)", "2M"}, {"(* 1.5M 2)", "3.0M"}, {"(* 1.10M 1.10M)", "1.2100M"},
		{"(+ 1.5M 1/2)", "2.0M"}, {"(+ 1.5M 1.5)", "3.0"}, {"(- 1.00M 1M)", "0.00M"}, {"(/ 1M 4)", "0.25M"},
		{"(/ 10M 4)", "2.5M"}, {"(/ 1.00M 2)", "0.50M"}, {"(/ 6M 3)", "2M"}, {"(/ 600M 3M)", "200M"}, {"(/ 6e2M 3M)", "2E+2M"},
		{"(/ 1M 3)", "!ArithmeticException: Non-terminating decimal expansion"}, {"(/ 1M 0)", "!ArithmeticException: Divide by zero"},
		{"(quot 10.5M 3)", "3.0M"}, {"(rem 10.5M 3)", "1.5M"}, {"(mod -7.5M 2)", "0.5M"}, {"(bigdec 1e10)", "1.0E+10M"},
		{"(bigdec 1.5)", "1.5M"}, {"(bigdec 1/2)", "0.5M"}, {`(bigdec "1.50")`, "1.50M"}, {`(bigdec "x")`, "!NumberFormatException"},
		{"(= 1.0M 1.00M)", "true"}, {"(= (hash 1.0M) (hash 1.00M))", "true"}, {"(= 0M 0.00M)", "true"},
		{"(= (hash 0M) (hash 0.00M))", "true"}, {"(= 1 1M)", "false"}, {"(== 1 1M)", "true"}, {"(< 1/3 1M)", "true"},
		{"(== 1/2 0.5M)", "true"}, {"(compare 1/3 0.4M)", "-1"}, {"(compare 0.4M 1/3)", "1"},
		{"(< 1e1000000000M 2e1000000000M)", "true"}, {"(= 1M 1e-1000000000M)", "false"}, {"1e-10M", "1E-10M"},
		{"0.000001M", "0.000001M"}, {"0.0000001M", "1E-7M"}, {"-12.5e3M", "-1.25E+4M"}, {"1e2M", "1E+2M"},
		{"(+ 1 1e2000000000M)", "!ArithmeticException: big decimal: overflow"}, {"(* 1e2000000000M 1e2000000000M)", "!ArithmeticException: big decimal: overflow"},
	})
}

func TestDivision(t *testing.T) {
	evals(t, [][2]string{
		{"(quot -7 2)", "-3"}, {"(quot 7 -2)", "-3"}, {"(rem 7 -2)", "1"}, {"(rem -7 -2)", "-1"}, {"(mod -7 2)", "1"},
		{"(mod 7 -2)", "-1"}, {"(mod -7 -2)", "-1"}, {"(mod 6 -3)", "0"}, {"(quot 7.5 2)", "3.0"}, {"(rem -7.5 2)", "-1.5"},
		{"(mod -7.5 2)", "0.5"}, {"(mod 5.5 -2)", "-0.5"}, {"(quot 1 0)", "!ArithmeticException: Divide by zero"},
		{"(quot 1.0 0)", "!ArithmeticException: Divide by zero"}, {"(rem 1 0)", "!ArithmeticException"},
		{"(mod 1 0)", "!ArithmeticException"}, {"(rem -7N 2)", "-1N"}, {"(mod -7/2 2)", "1/2"}, {"(quot 7/2 2)", "1N"},
		{"(rem 7/2 2)", "3/2"}, {"(quot -9223372036854775808 -1)", "-9223372036854775808"}, {"(quot ##Inf 2)", "!NumberFormatException"},
		{"(mod -100000000000000000000 7)", "5N"}, {"(quot 100000000000000000000 3)", "33333333333333333333N"},
	})
}

func TestComparison(t *testing.T) {
	evals(t, [][2]string{
		{"(< 1 2 3)", "true"}, {"(< 1 3 2)", "false"}, {"(> 3 2 1)", "true"}, {"(<= 1 1N 1.0)", "true"}, {"(< 1)", "true"},
		{"(<)", "!ArityException"}, {"(< 1/3 0.34)", "true"}, {"(> ##Inf 1e308)", "true"}, {"(== 1 1.0)", "true"},
		{"(= 1 1.0)", "false"}, {"(= 1 1N)", "true"}, {"(= (hash 1) (hash 1N))", "true"}, {"(= 0.0 -0.0)", "true"},
		{"(= (hash 0.0) (hash -0.0))", "true"}, {"(= ##NaN ##NaN)", "false"}, {"(= 1/2 2/4)", "true"}, {"(= 1/2 0.5)", "false"},
		{"(compare 1 1.0)", "0"}, {"(max 1 2.0)", "2.0"}, {"(max 2 1.0)", "2"}, {"(max 1/2 0.1)", "1/2"}, {"(min ##NaN 1)", "##NaN"},
		{"(min 3 1 2)", "1"}, {"(abs -5)", "5"}, {"(abs -0.0)", "0.0"}, {"(abs -1/2)", "1/2"}, {"(abs -1.50M)", "1.50M"},
		{"(abs -9223372036854775808)", "-9223372036854775808"}, {"(zero? -0.0)", "true"}, {"(zero? ##NaN)", "false"},
		{"(zero? nil)", "!NullPointerException"}, {"(even? 2N)", "true"}, {"(odd? -1)", "true"},
		{"(even? 1.0)", "!IllegalArgumentException: even?: got 1.0 (float), want an integer"},
		{"(nat-int? 0)", "true"}, {"(pos-int? 0)", "false"}, {"(neg-int? -1)", "true"}, {"(int? 1N)", "false"},
		{"(integer? 1N)", "true"}, {"(rational? 1.5M)", "true"}, {"(rational? 1.5)", "false"}, {"(ratio? 1/2)", "true"},
		{"(infinite? ##-Inf)", "true"}, {"(NaN? ##NaN)", "true"}, {"(NaN? 1)", "false"},
	})
}

func TestCasts(t *testing.T) {
	evals(t, [][2]string{
		{"(int 3.7)", "3"}, {"(int -3.7)", "-3"}, {`(int \a)`, "97"}, {"(int 9223372036854775807)", "!IllegalArgumentException: Value out of range for int"},
		{`(int "1")`, "!ClassCastException"}, {"(long 7/2)", "3"}, {"(long 1e20)", "!IllegalArgumentException: Value out of range for long"},
		{"(long ##NaN)", "0"}, {"(long 1e1000000000M)", "!IllegalArgumentException"}, {"(long 1.9M)", "1"}, {"(byte 128)", "!IllegalArgumentException"},
		{"(byte -128)", "-128"}, {"(short 5)", "5"}, {"(double 1/3)", "0.3333333333333333"}, {"(double 5N)", "5.0"},
		{"(double 1.5M)", "1.5"}, {"(bigint 1.5)", "1N"}, {"(bigint 1e23)", "100000000000000000000000N"}, {"(bigint 7/2)", "3N"},
		{`(bigint "12")`, "12N"}, {`(bigint "1.5")`, "!NumberFormatException"}, {"(bigint ##Inf)", "!NumberFormatException"},
		{"(biginteger 5)", "5"}, {"(int? (biginteger 5))", "false"}, {"(rationalize 0.5)", "1/2"}, {"(rationalize 1.25M)", "5/4"},
		{"(rationalize 3.0)", "3N"}, {"(numerator 6/4)", "3"}, {"(denominator 6/4)", "2"}, {"(numerator 2)", "!ClassCastException"},
		{"(num :a)", "!ClassCastException"}, {"(char 955)", `\λ`}, {"(char -1)", "!IllegalArgumentException"},
		{"(char 55296)", "!IllegalArgumentException"}, {"(unchecked-byte 200)", "-56"}, {"(unchecked-int 4294967295)", "-1"},
		{"(unchecked-long 36893488147419103231N)", "-1"}, {"(unchecked-add 9223372036854775807 1)", "-9223372036854775808"},
		{"(unchecked-multiply 9223372036854775807 2)", "-2"}, {"(unchecked-negate -9223372036854775808)", "-9223372036854775808"},
		{"(unchecked-add-int 2147483647 1)", "-2147483648"}, {"(unchecked-divide-int 7 0)", "!ArithmeticException"},
		{`(parse-long "42")`, "42"}, {`(parse-long "+42")`, "42"}, {`(parse-long "4x")`, "nil"}, {`(parse-long "9223372036854775808")`, "nil"},
		{`(parse-long nil)`, "!IllegalArgumentException: parse-long: got nil (nil), want a string"}, {`(parse-long "1_0")`, "nil"},
		{`(parse-double "1.5")`, "1.5"}, {`(parse-double " 1e3 ")`, "1000.0"}, {`(parse-double "Infinity")`, "##Inf"}, {`(parse-double "1e400")`, "##Inf"},
		{`(parse-double "inf")`, "nil"}, {`(parse-double "1.5d")`, "1.5"}, {`(parse-double ".5")`, "0.5"}, {`(parse-double "")`, "nil"},
		{`(parse-boolean "true")`, "true"}, {`(parse-boolean "True")`, "nil"},
	})
}

func TestNumberSyntax(t *testing.T) {
	evals(t, [][2]string{
		{"017", "15"}, {"0x1F", "31"}, {"-0xff", "-255"}, {"2r101", "5"}, {"36rZz", "1295"}, {"42N", "42N"}, {"+7", "7"},
		{"9223372036854775808", "9223372036854775808N"}, {"-9223372036854775808", "-9223372036854775808"}, {"4/2", "2"},
		{"-6/4", "-3/2"}, {"1/0", "!read"}, {"08", "!read"}, {"2r2", "!read"}, {"1.5M", "1.5M"}, {"1M", "1M"}, {"0x10N", "16N"},
		{"1e6", "1000000.0"}, {"1.", "1.0"}, {"123456789.0", "1.23456789E8"}, {"1234567.125", "1234567.125"}, {"1e21", "1.0E21"},
		{"1e-3", "0.001"}, {"0.0001", "1.0E-4"}, {"12345678901234567.0", "1.2345678901234568E16"}, {"4.9e-324", "4.9E-324"},
		{"2e-323", "2.0E-323"}, {"1.7976931348623157e308", "1.7976931348623157E308"}, {"-0.0", "-0.0"}, {"1e400", "##Inf"}, {"1e23", "1.0E23"},
		{"1e99999999999M", "!read"}, {"1_000", "!read"}, {"0/5", "0"}, {"1/2N", "!read"}, {"0x", "!read"},
	})
}

func TestBits(t *testing.T) {
	evals(t, [][2]string{
		{"(bit-and 12 10)", "8"}, {"(bit-or 1 2 4)", "7"}, {"(bit-xor 12 10)", "6"}, {"(bit-and-not 15 1 2)", "12"},
		{"(bit-not 5)", "-6"}, {"(bit-shift-left 1 63)", "-9223372036854775808"}, {"(bit-shift-left 1 -1)", "-9223372036854775808"},
		{"(bit-shift-right -8 1)", "-4"}, {"(unsigned-bit-shift-right -1 60)", "15"}, {"(bit-flip 5 1)", "7"}, {"(bit-set 0 3)", "8"},
		{"(bit-clear 15 0)", "14"}, {"(bit-test 5 0)", "true"}, {"(bit-test 5 1)", "false"},
		{"(bit-and 1N 1)", "!IllegalArgumentException: bit-and: got 1N (big integer), want an integer of 64 bits"}, {"(bit-and 1)", "!ArityException"},
	})
}

func TestMath(t *testing.T) {
	evals(t, [][2]string{
		{"(math/sqrt 4)", "2.0"}, {"(math/pow 2 10)", "1024.0"}, {"(math/pow 1 ##Inf)", "##NaN"}, {"(math/round 2.5)", "3"},
		{"(math/round -2.5)", "-2"}, {"(math/round ##NaN)", "0"}, {"(math/round 0.49999999999999994)", "0"}, {"(math/rint 2.5)", "2.0"},
		{"(math/floor-div -7 2)", "-4"}, {"(math/floor-mod -7 2)", "1"}, {"(math/floor-div 1 0)", "!ArithmeticException"},
		{"(math/add-exact 9223372036854775807 1)", "!ArithmeticException: integer overflow"}, {"(math/signum -3)", "-1.0"},
		{"(math/log10 1000)", "3.0"}, {"(math/ulp 1.0)", "2.220446049250313E-16"}, {"(math/get-exponent 8)", "3"}, {"(math/scalb 1.0 3)", "8.0"},
		{"(math/to-degrees 0)", "0.0"}, {"(math/IEEE-remainder 5 3)", "-1.0"}, {"(math/next-up 0.0)", "4.9E-324"}, {"(math/cbrt 27)", "3.0"},
		{"(jm/round 2.5)", "3.0"}, {"(jm/modf 1.25)", "[1.0 0.25]"}, {"(jm/pow-10 3)", "1000.0"}, {"(jm/inf? ##-Inf -1)", "true"},
		{"(jm/inf -1)", "##-Inf"}, {"(jm/dim 3 5)", "0.0"}, {"(jm/set-precision 3 1.2345M)", "1.23M"}, {"(math/sqrt nil)", "!NullPointerException"},
	})
}

// Each of these would take minutes or gigabytes in one operation that nothing can end.
func TestNumbersThatAreTooLargeAreRefused(t *testing.T) {
	for _, src := range []string{
		"(bigint 1e400000000M)",
		"(+ 1e400000000M 1)",
		"(rationalize 1e-400000000M)",
		"(quot 1e400000000M 3)",
		`(format "%.400000000f" 1.0)`,
		`(format "%.2f" 1e400000000M)`,
		`(bigint (repeat-str 3000000 "9"))`,
	} {
		if out, err := newCalc(limit.Defaults()).run(src); err == nil || !strings.Contains(err.Error(), "big number: ") {
			t.Errorf("%s: got %q, %v, want it refused", src, out, err)
		}
	}
}

// Each of these would take minutes or gigabytes if it were not charged for.
func TestNumbersAreCharged(t *testing.T) {
	small := limit.Limits{Steps: 1_000_000, Alloc: 64 << 20}
	for _, src := range []string{
		`(format "%1000000000d" 1)`,
		`(str/pad-left "" "x" 2000000000)`,
		`(re-find #"(a?){50}(a?){50}(a?){50}b" (repeat-str 200000 "a"))`,
		`(count (str/replace (repeat-str 100000 "a") "" (repeat-str 100000 "b")))`,
	} {
		if k := trips(small, src); k != limit.Steps && k != limit.Alloc && k != limit.Bytes {
			t.Errorf("%s: got limit %q, want steps, alloc or bytes", src, k)
		}
	}
}

func TestPowerTowerIsCharged(t *testing.T) {
	c := newCalc(limit.Limits{}.OrDefault())
	src := "3N"
	for range 40 {
		src = "(sq " + src + ")"
	}
	c.add("", []Def{{Name: "sq", F1: func(t *Thread, x Value) Value { return c.t.Call(c.fns["*'"], x, x) }}})
	if out, err := c.run("(count (str " + src + "))"); err == nil {
		t.Errorf("3^2^40: got %s, want a limit", out)
	}
}
