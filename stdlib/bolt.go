package stdlib

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/reflection-dev/zeno/lisp/value"
)

// boltWait is how long open waits for another process to let go of a database.
const boltWait = 10 * time.Second

// boltNS is joker.bolt: a store of keys and values in one file, in named buckets. Each call is a transaction.
func (h *Host) boltNS() []value.Builtin {
	return []value.Builtin{
		def("open", "([filename mode])", "Opens the database in a file, made with permission bits mode if there is none. One process at a time has it open: others wait, at most 10 seconds.", h.boltOpen),
		def("close", "([db])", "Closes a database.", func(t *Thread, db Value) { closeValue(t, db) }),
		def("create-bucket", "([db name])", "Makes a bucket; it must not be there.",
			boltChange("create-bucket", func(tx *bbolt.Tx, name string) error {
				_, err := tx.CreateBucket([]byte(name))
				return err
			})),
		def("create-bucket-if-not-exists", "([db name])", "Makes a bucket if it is not there.",
			boltChange("create-bucket-if-not-exists", func(tx *bbolt.Tx, name string) error {
				_, err := tx.CreateBucketIfNotExists([]byte(name))
				return err
			})),
		def("delete-bucket", "([db name])", "Removes a bucket and all that is in it.",
			boltChange("delete-bucket", func(tx *bbolt.Tx, name string) error { return tx.DeleteBucket([]byte(name)) })),
		def("put", "([db bucket key value])", "Puts a string under a key, in place of the one there.", boltPut),
		def("get", "([db bucket key])", "The string under a key; nil when there is none.", boltGet),
		def("delete", "([db bucket key])", "Removes a key. It is no error when it is not there.", boltDelete),
		def("by-prefix", "([db bucket prefix])", "A vector of [key value] for the keys that start with prefix, in order.", boltByPrefix),
		def("next-sequence", "([db bucket])", "The next of the integers from 1 that a bucket hands out.", boltNext),
	}
}

func (h *Host) boltOpen(t *Thread, name string, mode int) Value {
	path := h.path(name)
	db, err := beside(t, func(context.Context) (*bbolt.DB, error) {
		return bbolt.Open(path, fs.FileMode(mode), &bbolt.Options{Timeout: boltWait})
	})
	if errors.Is(err, berrors.ErrTimeout) {
		panic(value.Errorf("TimeoutException", "open: %s is open elsewhere; close it there first", name))
	}
	check("open", "open", name, err)
	return value.NewHost("bolt database", db)
}

func boltOf(t *Thread, who string, v Value) *bbolt.DB {
	db, ok := value.HostOf[*bbolt.DB](v)
	if !ok {
		panic(value.TypeError(t, who, v, "a database, such as (joker.bolt/open …) gives"))
	}
	return db
}

// boltChange makes a function that changes the buckets of a database.
func boltChange(who string, f func(tx *bbolt.Tx, name string) error) func(*Thread, Value, string) {
	return func(t *Thread, db Value, name string) {
		d := boltOf(t, who, db)
		_, err := beside(t, func(context.Context) (bool, error) {
			return true, d.Update(func(tx *bbolt.Tx) error { return f(tx, name) })
		})
		check(who, "change", "the bucket "+name, err)
	}
}

var errNoBucket = errors.New("there is no such bucket; create-bucket makes one")

// boltDo runs f on a bucket in a transaction, beside the thread.
func boltDo[T any](t *Thread, who, do string, db Value, bucket string, write bool, f func(*bbolt.Bucket) (T, error)) T {
	d := boltOf(t, who, db)
	run := d.View
	if write {
		run = d.Update
	}
	out, err := beside(t, func(context.Context) (out T, err error) {
		err = run(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			if b == nil {
				return errNoBucket
			}
			out, err = f(b)
			return err
		})
		return out, err
	})
	check(who, do, "the bucket "+bucket, err)
	return out
}

func boltPut(t *Thread, db Value, bucket, key, val string) {
	boltDo(t, "put", "write to", db, bucket, true, func(b *bbolt.Bucket) (bool, error) {
		return true, b.Put([]byte(key), []byte(val))
	})
}

func boltGet(t *Thread, db Value, bucket, key string) *string {
	return boltDo(t, "get", "read", db, bucket, false, func(b *bbolt.Bucket) (*string, error) {
		v := b.Get([]byte(key))
		if v == nil {
			return nil, nil
		}
		s := string(v)
		return &s, nil
	})
}

func boltDelete(t *Thread, db Value, bucket, key string) {
	boltDo(t, "delete", "write to", db, bucket, true, func(b *bbolt.Bucket) (bool, error) { return true, b.Delete([]byte(key)) })
}

func boltNext(t *Thread, db Value, bucket string) int64 {
	return boltDo(t, "next-sequence", "write to", db, bucket, true, func(b *bbolt.Bucket) (int64, error) {
		n, err := b.NextSequence()
		return int64(n), err
	})
}

func boltByPrefix(t *Thread, db Value, bucket, prefix string) Value {
	pairs := boltDo(t, "by-prefix", "read", db, bucket, false, func(b *bbolt.Bucket) (out [][2]string, err error) {
		c := b.Cursor()
		for k, v := c.Seek([]byte(prefix)); k != nil && len(k) >= len(prefix) && string(k[:len(prefix)]) == prefix; k, v = c.Next() {
			if v != nil { // nil: a bucket inside the bucket
				out = append(out, [2]string{string(k), string(v)})
			}
		}
		return out, nil
	})
	t.Charge(16 * len(pairs))
	xs := make([]Value, len(pairs))
	for i, p := range pairs {
		xs[i] = strs(t, p[:])
	}
	return value.NewVectorOwned(t, xs)
}
