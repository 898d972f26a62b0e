/**
 * Copies the write-ahead log into the database file on another thread. The copy of a large transaction takes as much processor
 * time as its COMMIT, and the event loop would stand still meanwhile.
 */
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'

/** CommonJS, so that the thread needs no file of the service. `mode=rw`: a missing file is an error. */
const script = `
const { workerData } = require('node:worker_threads')
const { DatabaseSync } = require('node:sqlite')
const database = new DatabaseSync(new URL(workerData.location), { timeout: 0 })
database.exec(workerData.settings)
database.prepare('PRAGMA wal_checkpoint(PASSIVE)').all()
database.close()
`

/** @throws the error of SQLite or of the thread. The log then keeps its content for the next checkpoint. */
export async function checkpointOnThread(path: string, synchronous: 'FULL' | 'NORMAL'): Promise<void> {
  const location = pathToFileURL(path)
  location.search = '?mode=rw'
  const settings = `PRAGMA synchronous = ${synchronous}${synchronous === 'FULL' ? '; PRAGMA checkpoint_fullfsync = ON' : ''}`
  const thread = new Worker(script, {
    eval: true,
    workerData: { location: location.href, settings },
    // The options of the process may name files to load first.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  })
  await once(thread, 'exit')
}
