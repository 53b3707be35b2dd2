// A peer of the measurements: Kafka's own Java consumer, which reads in batches, touches every value and commits after each batch.
//
// BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH. It says "assigned" when it is, "read RECORDS BYTES SUM" when it has read that many,
// and ends when its input does. It must not know who else is measured.

import java.io.OutputStream;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public final class Loop {
    public static void main(String[] words) {
        if (words.length != 6) {
            throw new IllegalArgumentException("BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH");
        }
        long wanted = Long.parseLong(words[4]);
        int batch = Integer.parseInt(words[5]);
        Thread ending = new Thread(Loop::endWithInput);
        ending.setDaemon(true);
        ending.start();
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", words[0],
                "group.id", words[2],
                "enable.auto.commit", "false",
                "auto.offset.reset", "earliest",
                "max.poll.records", batch,
                "key.deserializer", ByteArrayDeserializer.class.getName(),
                "value.deserializer", ByteArrayDeserializer.class.getName());
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(words[1]), new SaysAssigned());
            long records = 0;
            long bytes = 0;
            long sum = 0;
            long committed = 0;
            while (committed < wanted) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    byte[] value = record.value();
                    records++;
                    bytes += value.length;
                    sum += value.length == 0 ? 0 : value[value.length - 1] & 0xff;
                }
                // What a poll gives ends with its partition's response, so a batch is as many polls as it takes.
                if (records - committed >= batch || records == wanted && committed < wanted) {
                    consumer.commitSync();
                    committed = records;
                }
            }
            System.out.println("read " + records + " " + bytes + " " + sum);
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException never) {
            Thread.currentThread().interrupt();
        }
    }

    private static void endWithInput() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (java.io.IOException gone) {
            // As good as an end.
        }
        Runtime.getRuntime().halt(0);
    }

    private static final class SaysAssigned implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            System.out.println("assigned");
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
    }
}
