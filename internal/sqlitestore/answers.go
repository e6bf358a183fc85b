package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Answer returns the stored answer of a step. Store.Answer, by contrast, stores the response to a server request.
func (s Ledger) Answer(ctx context.Context, step string) ([]byte, bool, error) {
	answer, found := []byte{}, false
	err := s.readOnce(ctx, func(d tx) error {
		var err error
		found, err = d.one("SELECT answer FROM answers WHERE step = ?", []any{step}, &answer)
		return err
	})
	if err != nil || !found {
		return nil, false, wrap(err, "answer of "+step)
	}
	return answer, true, nil
}

func (d tx) keepAnswer(step string, answer []byte) error {
	_, err := d.exec("INSERT INTO answers (step, answer) VALUES (?, ?) ON CONFLICT DO NOTHING", step,
		append([]byte{}, answer...))
	return err
}

// Forget deletes a dream's stored answers and empties the write-ahead log, so that they are nowhere in the file.
// Store.Forget, by contrast, erases memories.
func (s Ledger) Forget(ctx context.Context, dream string) error {
	err := s.write(ctx, func(d tx) error {
		if dream == "" {
			return errors.New("the dream's id is empty")
		}
		return d.dropAnswers("dream = ?", dream)
	})
	if err == nil {
		err = s.emptyLog(context.WithoutCancel(ctx), false)
	}
	return wrap(err, "forget the answers of dream "+dream)
}

// dropAnswers deletes the answers of the steps whose attempts match, and marks those of these attempts that may still
// bring an answer.
func (d tx) dropAnswers(fit string, args ...any) error {
	if _, err := d.exec("DELETE FROM answers WHERE step IN (SELECT step FROM attempts WHERE "+fit+")",
		args...); err != nil {
		return err
	}
	_, err := d.exec("UPDATE attempts SET forgotten = 1 WHERE state IN ('open', 'unknown') AND "+fit, args...)
	return err
}

// forgetAnswers deletes what the ledger keeps about an item that is to be erased: the answers of every dream that made
// it, changed it or showed it in its prompts, the partial output of interrupted calls of these dreams, and everything
// that was bought for the agent while awake, such as the item's vector.
func (d tx) forgetAnswers(agent, id string) error {
	var dreams []string
	name, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if _, err := d.exec(`DELETE FROM notes WHERE agent = ? AND substr(name, 1, ?) = ? AND dream IN
		(SELECT dream FROM notes WHERE agent = ? AND instr(value, CAST(? AS BLOB)) > 0)`,
		agent, len(memory.LateNote), memory.LateNote, agent, string(name)); err != nil {
		return err
	}
	err = d.each(
		`SELECT dream FROM items WHERE agent = ? AND id = ? UNION SELECT cause FROM items WHERE agent = ? AND id = ?
		UNION SELECT cause FROM revisions WHERE agent = ? AND id = ?
		UNION SELECT dream FROM notes WHERE agent = ? AND instr(value, CAST(? AS BLOB)) > 0`,
		[]any{agent, id, agent, id, agent, id, agent, string(name)},
		func(scan func(...any) error) error {
			var dream string
			err := scan(&dream)
			dreams = append(dreams, dream)
			return err
		})
	if err != nil || len(dreams) == 0 {
		return err
	}
	for _, dream := range dreams {
		if dream == "" {
			continue
		}
		if err := d.dropAnswers("dream = ?", dream); err != nil {
			return err
		}
	}
	return d.dropEmbeddings(agent)
}

// dropEmbeddings deletes the embedders' answers that were bought for an agent while awake. They are large, and not
// needed any more once the vectors are stored with the items.
func (d tx) dropEmbeddings(agent string) error {
	return d.dropAnswers("agent = ? AND dream = ''", agent)
}
