package llama

import (
	"math"
	"strconv"
)

// longestNumber is how many letters a number may have.
const longestNumber = 12

// digits are the allowed letters of a number; exponents are left out.
const digits = "0123456789.-"

// valid says whether the letters are a number of the form, whole and within its bounds.
func (f *form) valid(text []byte) bool {
	n := len(text)
	if n == 0 || n > longestNumber || text[n-1] == '.' || text[n-1] == '-' {
		return false
	}
	x, err := strconv.ParseFloat(string(text), 64)
	return err == nil && x >= f.low && x <= f.high
}

// open says whether the letters could become a number of the form.
func (f *form) open(text []byte) bool {
	if len(text) > longestNumber {
		return false
	}
	body := text
	sign := 1.0
	if len(body) > 0 && body[0] == '-' {
		body, sign = body[1:], -1
	}
	point := -1
	for i, b := range body {
		switch {
		case b == '-', b == '.' && (point >= 0 || i == 0 || f.kind == aWhole):
			return false
		case b == '.':
			point = i
		}
	}
	if len(body) > 1 && body[0] == '0' && point != 1 {
		return false
	}
	return f.reaches(text, body, sign, point)
}

// reaches compares what could still be written with the bounds.
func (f *form) reaches(text, body []byte, sign float64, point int) bool {
	room := longestNumber - len(text)
	if len(body) == 0 {
		return sign > 0 || f.low < 0 || f.low == 0 && f.high >= 0
	}
	x, err := strconv.ParseFloat(string(body), 64)
	if err != nil && point < len(body)-1 {
		return false
	}
	within := func(from, width float64) bool {
		a, b := sign*from, sign*(from+width)
		return max(min(a, b), f.low) < min(max(a, b), f.high) || a >= f.low && a <= f.high
	}
	if point >= 0 {
		return within(x, math.Pow(10, -float64(len(body)-1-point))*tail(room))
	}
	width := 0.0
	if f.kind == aNumber && room > 1 {
		width = 1
	}
	if within(x, width) {
		return true
	}
	if body[0] == '0' {
		return false
	}
	for k := 1; k <= room; k++ {
		if step := math.Pow(10, float64(k)); within(x*step, step-1) {
			return true
		}
	}
	return false
}

// tail is how far further digits reach: nowhere without room for one.
func tail(room int) float64 {
	if room > 0 {
		return 1
	}
	return 0
}

// ending is how many letters the shortest number has that begins so, without those there are; longestNumber when none
// is.
func (f *form) ending(text []byte) int {
	level := [][]byte{text}
	for n := 0; n < 5; n++ {
		var next [][]byte
		for _, t := range level {
			if f.valid(t) {
				return n
			}
			for i := range digits {
				if longer := append(append([]byte(nil), t...), digits[i]); len(next) < 64 && f.open(longer) {
					next = append(next, longer)
				}
			}
		}
		level = next
	}
	return longestNumber
}
