//! A component as the product runs it.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use gristmill_core::io::DeliveryId;
use gristmill_core::outcome::{Answer, Outcome};
use gristmill_guest::{
    Answered, Engine, EngineSettings, Instances, Job, Limits, Plugin, PluginSettings, Worker, WorkerSettings,
};

use crate::batch::Batch;

/// How long its instances live.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instance {
    Fresh,
    Reused,
}

/// Hands a batch over with each call, and gives the time from taking it to the answer.
pub(crate) fn contestant(bytes: &[u8], instance: Instance) -> impl FnMut() -> Duration + use<> {
    let engine = Engine::new(&EngineSettings::default()).unwrap();
    // Room for languages that bring a runtime along.
    let limits = Limits { memory_bytes: 512 << 20, ..Limits::STRICT };
    let reuse = Instances::Reuse { batches_max: u32::MAX, memory_bytes_max: u64::MAX };
    let instances = if instance == Instance::Fresh { Instances::Fresh } else { reuse };
    let settings = PluginSettings { limits, instances, ..PluginSettings::default() };
    let plugin = Plugin::load(&engine, "measured", bytes, &settings).unwrap();
    let (sink, answers) = mpsc::channel::<Answered>();
    let worker =
        Worker::spawn(WorkerSettings { name: "measured".to_owned() }, move |answered| drop(sink.send(answered)))
            .unwrap();
    let mut number = 0;
    move || {
        number += 1;
        let job = Job {
            delivery: DeliveryId(number),
            attempt: 1,
            part: false,
            pipeline: "orders".into(),
            plugin: plugin.clone(),
            sinks: Arc::from([Arc::from("copies")]),
            batch: Box::new(Batch),
        };
        worker.deliver(job).unwrap();
        let answered = answers.recv().unwrap();
        assert!(matches!(answered.answer, Answer::Outcome(Outcome::Ok { .. })), "{:?}", answered.answer);
        answered.facts.duration
    }
}
