//! Lines in and lines out: one request after the other is read and answered, while turns go on beside.

mod lines;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufWriter};

use self::lines::{Line, Lines};
use crate::outbox::Item;
use crate::service::Service;
use crate::store::StoreError;

/// How long a client that does not read is waited for when the service is to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What turns are told that end because the service does.
const STOPPED: &str = "service_stopped";

/// Why the service ended before its client did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// Requests cannot be read.
    #[error("requests cannot be read")]
    Read(#[source] io::Error),
    /// Nobody reads what is told.
    #[error("answers and events cannot be written")]
    Write(#[source] io::Error),
    /// What is to be told is gone.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Answers requests until there are no more, and then waits for turns that are under way. When `stop` is ready, or nobody
/// reads any more, no request is read any more; `stop` also ends all turns.
pub async fn serve(
    service: Arc<Service>,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> Result<(), TransportError> {
    let stop = pin!(stop);
    let feed = feed(&service, reader, stop);
    let mut pump = pin!(pump(&service, writer));
    let mut feed = pin!(feed);
    let mut pumped = None;
    let fed = loop {
        tokio::select! {
            fed = &mut feed => break fed,
            ended = &mut pump, if pumped.is_none() => pumped = Some(ended),
        }
    };
    let pumped = match (pumped, &fed) {
        (Some(ended), _) => ended,
        (None, Ok(Fed::Stopped)) => tokio::time::timeout(PATIENCE, pump).await.unwrap_or(Ok(())),
        (None, Ok(Fed::All) | Err(_)) => pump.await,
    };
    pumped.and(fed.map(|_| ()))
}

/// Why no more requests are read.
enum Fed {
    /// There are no more.
    All,
    /// Nobody wants them answered any more.
    Stopped,
}

/// Reads and answers requests, and waits for turns when there are no more.
async fn feed(
    service: &Service,
    reader: impl AsyncRead + Unpin,
    mut stop: std::pin::Pin<&mut impl Future<Output = ()>>,
) -> Result<Fed, TransportError> {
    let mut read = tokio::select! {
        biased;
        () = &mut stop => Ok(Fed::Stopped),
        () = service.outbox().broken() => Ok(Fed::All),
        read = answer_all(service, reader) => read.map(|()| Fed::All),
    };
    if let Ok(Fed::Stopped) = read {
        service.cancel_all(STOPPED);
        service.drain().await;
    } else {
        tokio::select! {
            biased;
            () = &mut stop => {
                service.cancel_all(STOPPED);
                service.drain().await;
                read = read.map(|_| Fed::Stopped);
            }
            () = service.drain() => {}
        }
    }
    service.outbox().finish();
    read
}

async fn answer_all(service: &Service, reader: impl AsyncRead + Unpin) -> Result<(), TransportError> {
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next().await.map_err(TransportError::Read)? {
        let answer = match line {
            Line::Whole([]) => continue,
            Line::Whole(line) => service.handle(line).await,
            Line::TooLong => Service::refuse(&format!(
                "a request is longer than {} bytes, and was not read",
                lines::LONGEST
            )),
        };
        // The next request is read when this one is answered, so that answers do not heap up.
        let _never_written = service.outbox().answer(answer).await;
    }
    Ok(())
}

/// Writes what is to be told, in order.
async fn pump(service: &Service, writer: impl AsyncWrite + Unpin) -> Result<(), TransportError> {
    let outbox = service.outbox();
    let mut writer = BufWriter::new(writer);
    let written = async {
        while let Some(item) = outbox.next().await {
            match item {
                Item::Event(line) => write(&mut writer, &line).await?,
                Item::Kept { first, last } => {
                    for sequence in first..=last {
                        match service.store().line(sequence) {
                            Ok(line) => write(&mut writer, &line).await?,
                            // Somebody did not want to keep it, and the client did not read it in time.
                            Err(StoreError::EventNotFound { .. }) => {}
                            Err(error) => return Err(error.into()),
                        }
                    }
                }
                Item::Answer(line, sender) => {
                    write(&mut writer, &line).await?;
                    writer.flush().await.map_err(TransportError::Write)?;
                    let _nobody_waits = sender.send(());
                }
            }
            // Many small lines in a row are one write.
            if outbox.is_empty() {
                writer.flush().await.map_err(TransportError::Write)?;
            }
        }
        writer.flush().await.map_err(TransportError::Write)
    };
    let written = written.await;
    if written.is_err() {
        outbox.give_up();
    }
    written
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), line: &str) -> Result<(), TransportError> {
    writer.write_all(line.as_bytes()).await.map_err(TransportError::Write)?;
    writer.write_all(b"\n").await.map_err(TransportError::Write)
}
