//! Stores in a directory and in S3 services on this machine, over real sockets.

mod service;

use futures_util::future::join_all;
use marvin_base::environment::Environment;
use marvin_store::{BlobId, Condition, Creation, RefMove, Store, StoreError};
use service::Service;
use std::net::TcpListener;
use std::path::Path;

async fn in_directory(directory: &Path) -> Store {
    let address = directory.to_str().unwrap().parse().unwrap();
    Store::open(address, &Environment::default()).await.unwrap()
}

async fn in_bucket(service: &Service) -> Store {
    Store::open("s3://bucket/team/a".parse().unwrap(), &service.environment()).await.unwrap()
}

async fn check_blobs(store: &Store) {
    let id = store.write_blob("so long".into()).await.unwrap();
    assert_eq!(id, BlobId::from_bytes(b"so long"));
    assert_eq!(store.write_blob("so long".into()).await.unwrap(), id);
    assert_eq!(store.read_blob(&id).await.unwrap(), "so long");
    let other = BlobId::from_bytes(b"farewell");
    assert!(store.has_blob(&id).await.unwrap() && !store.has_blob(&other).await.unwrap());
    assert!(matches!(store.read_blob(&other).await, Err(StoreError::Missing { .. })));
}

/// Of several deliveries of one attempt, one end counts, and all of them learn which.
async fn check_ends(store: &Store) {
    assert_eq!(store.read_end("k0").await.unwrap(), None);
    for round in 0..10 {
        let key = format!("k{round}");
        let create = |writer: usize| store.create_end(&key, format!("delivery {writer}").into());
        let results = join_all((0..16).map(create)).await;
        let end = store.read_end(&key).await.unwrap().unwrap();
        let mut winners = 0;
        for (writer, result) in results.into_iter().enumerate() {
            match result.unwrap() {
                Creation::Created => {
                    winners += 1;
                    assert_eq!(end, format!("delivery {writer}"));
                }
                Creation::Exists(first) => assert_eq!(first, end),
            }
        }
        assert_eq!(winners, 1, "{key}");
        // A request whose answer was lost is repeated.
        assert_eq!(store.create_end(&key, end).await.unwrap(), Creation::Created);
    }
    let error = store.create_end("../ends/k0", "x".into()).await.unwrap_err();
    assert!(matches!(error, StoreError::Name { .. }), "{error}");
}

async fn check_refs(store: &Store) {
    assert_eq!(store.read_ref("project/main").await.unwrap(), None);
    let RefMove::Moved(first) = store.move_ref("project/main", None, "a").await.unwrap() else {
        panic!("no other process moves it");
    };
    assert_eq!((first.value(), first.number()), ("a", 1));
    let again = store.move_ref("project/main", None, "b").await.unwrap();
    assert_eq!(again, RefMove::Conflict(Some(first.clone())));
    let RefMove::Moved(second) = store.move_ref("project/main", Some(&first), "b").await.unwrap() else {
        panic!("no other process moves it");
    };
    let RefMove::Moved(third) = store.move_ref("project/main", Some(&second), "a").await.unwrap() else {
        panic!("no other process moves it");
    };
    // The value is the same as at first, the ref is not.
    let stale = store.move_ref("project/main", Some(&first), "c").await.unwrap();
    assert_eq!(stale, RefMove::Conflict(Some(third.clone())));
    assert_eq!(store.read_ref("project/main").await.unwrap(), Some(third));
}

/// No increment of a counter is lost.
async fn check_races_of_refs(store: &Store) {
    let count = async || {
        for _ in 0..4 {
            let mut current = store.read_ref("counter").await.unwrap();
            loop {
                let value: u32 = current.as_ref().map_or(0, |current| current.value().parse().unwrap());
                match store.move_ref("counter", current.as_ref(), &(value + 1).to_string()).await.unwrap() {
                    RefMove::Moved(_) => break,
                    RefMove::Conflict(now) => current = now,
                }
            }
        }
    };
    join_all((0..6).map(|_| count())).await;
    let end = store.read_ref("counter").await.unwrap().unwrap();
    assert_eq!((end.value(), end.number()), ("24", 24));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_is_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = in_directory(directory.path()).await;
    check_blobs(&store).await;
    check_ends(&store).await;
    check_refs(&store).await;
    check_races_of_refs(&store).await;
    let left: Vec<_> = std::fs::read_dir(directory.path().join("probe")).unwrap().collect();
    assert!(left.is_empty(), "the probe removes what it wrote: {left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_is_a_store() {
    let Some(service) = Service::moto() else { return };
    let store = in_bucket(&service).await;
    check_blobs(&store).await;
    check_ends(&store).await;
    check_refs(&store).await;
    check_races_of_refs(&store).await;
    // Another process sees the same objects, and another prefix others.
    let other = in_bucket(&service).await;
    assert!(other.has_blob(&BlobId::from_bytes(b"so long")).await.unwrap());
    let apart = Store::open("s3://bucket/team/b".parse().unwrap(), &service.environment()).await.unwrap();
    assert!(!apart.has_blob(&BlobId::from_bytes(b"so long")).await.unwrap());
}

#[tokio::test]
async fn a_service_that_overwrites_silently_is_refused() {
    let Some(service) = Service::rclone() else { return };
    let error = Store::open("s3://bucket".parse().unwrap(), &service.environment()).await.unwrap_err();
    assert!(matches!(error, StoreError::NoConditionalWrites { condition: Condition::Absent, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "cannot use the store s3://bucket: it does not create an object only if it does not exist (If-None-Match)"
    );
    assert!(error.hint().is_some());
}

#[tokio::test]
async fn a_service_that_is_away_is_an_error() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = Store::open("s3://bucket".parse().unwrap(), &service::environment(port)).await.unwrap_err();
    assert!(matches!(error, StoreError::Request { verb: "write", .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn a_blob_with_another_content_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let store = in_directory(directory.path()).await;
    let id = store.write_blob("so long".into()).await.unwrap();
    std::fs::write(directory.path().join("blobs").join(id.as_str()), "so wrong").unwrap();
    assert!(matches!(store.read_blob(&id).await, Err(StoreError::Damaged { .. })));
    std::fs::create_dir_all(directory.path().join("refs")).unwrap();
    for content in [
        "",
        "{}",
        r#"{"version":2,"number":1,"value":"a","moved_by":"00000000-0000-4000-8000-000000000000"}"#,
    ] {
        std::fs::write(directory.path().join("refs/main"), content).unwrap();
        assert!(matches!(store.read_ref("main").await, Err(StoreError::Damaged { .. })), "{content}");
    }
}

#[tokio::test]
async fn an_end_that_is_too_large_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = in_directory(directory.path()).await;
    let error = store.create_end("k", vec![0; 8 * 1024 * 1024 + 1].into()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    assert_eq!(store.read_end("k").await.unwrap(), None);
}

/// An unmounted directory would be created again by the next write, and attempts would seem to have no end.
#[tokio::test]
async fn a_directory_that_is_away_is_neither_written_nor_empty() {
    let root = tempfile::tempdir().unwrap();
    let (here, away) = (root.path().join("store"), root.path().join("away"));
    let store = in_directory(&here).await;
    store.create_end("k0", "end".into()).await.unwrap();
    std::fs::rename(&here, &away).unwrap();
    let is_away = |error: StoreError| matches!(error, StoreError::Away { .. });
    assert!(is_away(store.read_end("k0").await.unwrap_err()));
    assert!(is_away(store.create_end("k1", "end".into()).await.unwrap_err()));
    assert!(is_away(store.write_blob("so long".into()).await.unwrap_err()));
    assert!(!here.exists());
    // Another process makes a new store in its place.
    in_directory(&here).await;
    assert!(is_away(store.read_end("k0").await.unwrap_err()));
    assert!(is_away(store.create_end("k1", "end".into()).await.unwrap_err()));
    std::fs::remove_dir_all(&here).unwrap();
    std::fs::rename(&away, &here).unwrap();
    assert_eq!(store.read_end("k0").await.unwrap().unwrap(), "end");
    assert_eq!(store.create_end("k1", "end".into()).await.unwrap(), Creation::Created);
}
