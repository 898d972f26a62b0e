-- The scripts of features that an application adds. Their numbers begin with 1 for each feature.
CREATE TABLE feature_migration (
  feature TEXT_KEY NOT NULL,
  number BIGINT NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at BIGINT NOT NULL,
  release TEXT NOT NULL,
  PRIMARY KEY (feature, number)
) STRICT, WITHOUT ROWID;
