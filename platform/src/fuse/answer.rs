//! Runs what answers the kernel: inline when it is ready, else on the core's runtime, with the reply in its pocket. A panic
//! in it is logged and fails one request: the reply, dropped unanswered, answers an I/O error by itself.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use tokio::runtime::Handle;

/// Runs a callback that answers at once.
pub(super) fn guarded(operation: &'static str, callback: impl FnOnce()) {
    // Unwind safety: the callback owns its reply and shares nothing with us but the core, which guards itself.
    if catch_unwind(AssertUnwindSafe(callback)).is_err() {
        tracing::error!(operation, "a file-system callback panicked");
    }
}

/// Polls `answer` once here; spawns it if it has to wait. Never blocks.
pub(super) fn inline_or_spawn(
    operation: &'static str,
    runtime: &Handle,
    answer: impl Future<Output = ()> + Send + 'static,
) {
    let mut answer = Box::pin(answer);
    let mut surviving = Box::pin(poll_fn(move |context| {
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))).unwrap_or_else(|_| {
            tracing::error!(operation, "an answer to the file system panicked");
            Poll::Ready(())
        })
    }));
    // Timers and sockets of the runtime are made by the first poll already.
    let entered = runtime.enter();
    let polled = surviving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(entered);
    if polled.is_pending() {
        // The spawned task is polled again at once, and leaves a waker that works.
        runtime.spawn(surviving);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;
    use tokio::sync::oneshot;

    /// Behaves as fuser's replies do: says "failed" if it is dropped unanswered.
    struct FakeReply(Option<Sender<&'static str>>);

    impl FakeReply {
        fn new() -> (FakeReply, Receiver<&'static str>) {
            let (sent, received) = channel();
            (FakeReply(Some(sent)), received)
        }

        fn ok(mut self) {
            self.0.take().expect("answered once").send("ok").expect("somebody listens");
        }
    }

    impl Drop for FakeReply {
        fn drop(&mut self) {
            if let Some(sent) = self.0.take() {
                sent.send("failed").expect("somebody listens");
            }
        }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
    }

    #[test]
    fn a_ready_answer_is_given_on_the_asking_thread() {
        let runtime = runtime();
        let (reply, answered) = FakeReply::new();
        let asking = thread::current().id();
        inline_or_spawn("test", runtime.handle(), async move {
            assert_eq!(thread::current().id(), asking);
            reply.ok();
        });
        assert_eq!(answered.try_recv(), Ok("ok"));
    }

    #[test]
    fn an_answer_that_waits_frees_the_thread() {
        let runtime = runtime();
        let (reply, answered) = FakeReply::new();
        let (go, gone) = oneshot::channel();
        inline_or_spawn("test", runtime.handle(), async move {
            gone.await.expect("told to go on");
            reply.ok();
        });
        assert!(answered.try_recv().is_err());
        go.send(()).expect("it waits");
        assert_eq!(answered.recv(), Ok("ok"));
    }

    #[test]
    fn timers_of_the_runtime_work_from_the_first_poll() {
        let runtime = runtime();
        let (reply, answered) = FakeReply::new();
        inline_or_spawn("test", runtime.handle(), async move {
            tokio::time::timeout(std::time::Duration::from_millis(1), std::future::pending::<()>()).await.unwrap_err();
            reply.ok();
        });
        assert_eq!(answered.recv(), Ok("ok"));
    }

    #[test]
    fn a_panic_fails_its_request_only() {
        let runtime = runtime();
        let (reply, answered) = FakeReply::new();
        guarded("test", move || {
            let _reply = reply;
            panic!("planted");
        });
        assert_eq!(answered.recv(), Ok("failed"));

        let (reply, answered) = FakeReply::new();
        inline_or_spawn("test", runtime.handle(), async move {
            let _reply = reply;
            panic!("planted");
        });
        assert_eq!(answered.recv(), Ok("failed"));

        let (reply, answered) = FakeReply::new();
        inline_or_spawn("test", runtime.handle(), async move {
            let _reply = reply;
            tokio::task::yield_now().await;
            panic!("planted");
        });
        assert_eq!(answered.recv(), Ok("failed"));

        let lives = Arc::new(AtomicBool::new(false));
        let told = lives.clone();
        guarded("test", move || told.store(true, Ordering::Relaxed));
        assert!(lives.load(Ordering::Relaxed));
    }

    #[test]
    fn a_runtime_that_is_gone_fails_the_request() {
        let runtime = runtime();
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        let (reply, answered) = FakeReply::new();
        inline_or_spawn("test", &handle, async move {
            std::future::pending::<()>().await;
            reply.ok();
        });
        assert_eq!(answered.recv(), Ok("failed"));
    }
}
