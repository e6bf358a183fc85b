package minilm

// dot4Portable is dot4 in Go alone.
func dot4Portable(w, x0, x1, x2, x3 []float32, out *[4]float32) {
	x0, x1 = x0[:len(w)], x1[:len(w)]
	x2, x3 = x2[:len(w)], x3[:len(w)]
	var a, b, c, d float32
	for i, y := range w {
		a += y * x0[i]
		b += y * x1[i]
		c += y * x2[i]
		d += y * x3[i]
	}
	out[0] = a
	out[1] = b
	out[2] = c
	out[3] = d
}

// linear writes values·weightsᵀ + bias: rows of in numbers each in x become rows of len(bias) numbers in y. weights
// holds one row of in numbers for each output. x and y have room for a number of rows that is a multiple of 4.
func linear(y, x, weights, bias []float32, rows, in int) {
	out := len(bias)
	var sums [4]float32
	// Weights that fit the nearest cache together are used for all rows before the next ones are read.
	const block = 16
	for from := 0; from < out; from += block {
		to := min(out, from+block)
		for t := 0; t < rows; t += 4 {
			x0 := x[t*in : (t+1)*in]
			x1 := x[(t+1)*in : (t+2)*in]
			x2 := x[(t+2)*in : (t+3)*in]
			x3 := x[(t+3)*in : (t+4)*in]
			for o := from; o < to; o++ {
				dot4(weights[o*in:(o+1)*in], x0, x1, x2, x3, &sums)
				y[t*out+o] = sums[0] + bias[o]
				y[(t+1)*out+o] = sums[1] + bias[o]
				y[(t+2)*out+o] = sums[2] + bias[o]
				y[(t+3)*out+o] = sums[3] + bias[o]
			}
		}
	}
}
