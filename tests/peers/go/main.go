// A peer of the measurements: franz-go, which reads in batches, touches every value and commits after each batch.
//
// BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH. It says "assigned" when it is, "read RECORDS BYTES SUM" when it has read that
// many, and ends when its input does. It must not know who else is measured.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if len(os.Args) != 7 {
		fail("BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH")
	}
	wanted, batch := number(os.Args[5]), number(os.Args[6])
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.ConsumerGroup(os.Args[3]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { fmt.Println("assigned") }),
	)
	if err != nil {
		fail(err)
	}
	records, bytes, sum := 0, 0, uint64(0)
	for records < wanted {
		taken := 0
		for taken < batch && records < wanted {
			fetches := client.PollRecords(context.Background(), batch-taken)
			if err := fetches.Err(); err != nil {
				fail(err)
			}
			fetches.EachRecord(func(record *kgo.Record) {
				taken++
				records++
				bytes += len(record.Value)
				if len(record.Value) > 0 {
					sum += uint64(record.Value[len(record.Value)-1])
				}
			})
		}
		if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
			fail(err)
		}
	}
	fmt.Println("read", records, bytes, sum)
	select {}
}

func number(word string) int {
	number, err := strconv.Atoi(word)
	if err != nil {
		fail(err)
	}
	return number
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
