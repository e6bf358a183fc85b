package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/embedder/minilm"
)

// load reads the model from its folder.
func load(dir string) (*minilm.Model, error) {
	read := func(names ...string) (data []byte, err error) {
		for _, name := range names {
			data, err = os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				return data, nil
			}
		}
		return nil, err
	}
	var f minilm.Files
	var err error
	f.Config, err = read("config.json")
	if err != nil {
		return nil, err
	}
	f.Tokenizer, err = read("tokenizer.json")
	if err != nil {
		return nil, err
	}
	f.Weights, err = read("model.safetensors", "model.fp16.safetensors")
	if err != nil {
		return nil, err
	}
	return minilm.Load(f)
}

// teach embeds n texts with the model and stores the vectors in a file, one after the other, so that an interrupted
// run continues where it was. The file belongs to these texts and this model only.
func teach(file string, n, width int, embed func(i int) []float32) ([]float32, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	done := min(n, int(info.Size())/(4*width))
	if _, err := f.Seek(int64(done)*int64(4*width), io.SeekStart); err != nil {
		return nil, err
	}
	w := bufio.NewWriter(f)
	const batch = 512
	for done < n {
		size := min(batch, n-done)
		vectors := make([][]float32, size)
		var all sync.WaitGroup
		for core := range runtime.GOMAXPROCS(0) {
			all.Go(func() {
				for i := core; i < size; i += runtime.GOMAXPROCS(0) {
					vectors[i] = embed(done + i)
				}
			})
		}
		all.Wait()
		for _, v := range vectors {
			if err := binary.Write(w, binary.LittleEndian, v); err != nil {
				return nil, err
			}
		}
		if err := w.Flush(); err != nil {
			return nil, err
		}
		done += size
		if done%(20*batch) == 0 || done == n {
			fmt.Fprintf(os.Stderr, "%s: %d of %d\n", filepath.Base(file), done, n)
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	out := make([]float32, n*width)
	data := make([]byte, 4*len(out))
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
}
