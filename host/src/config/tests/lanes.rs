//! Batches of one partition, and the workers for them.

use gristmill_core::policy::Scope;

use super::*;

#[test]
fn each_partition_may_have_batches_of_its_own_and_memory_for_each_worker() {
    let config = good("[batch]\nscope = \"partition\"\nworkers = 3");
    let Scope::Partition { workers, lanes_bytes_max } = config.policy.scope else { panic!("{:?}", config.policy) };
    assert_eq!((workers.get(), lanes_bytes_max.get()), (3, config.kafka.buffer_bytes_max));
    assert_eq!(config.kafka.buffer_bytes_max, (3 * 4 * 8 + 2 * 16 + 16) << 20);
}

#[test]
fn batches_of_one_partition_are_refused_where_something_is_decoded() {
    let text = problems("[batch]\nscope = \"partition\"\n[topics.orders.value]\nformat = \"json\"");
    assert!(text.contains("batch.scope = \"partition\" and formats in [topics]: this version decodes"), "{text}");
}
