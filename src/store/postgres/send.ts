/** Sends statements on a pipelined client. All statements of one event loop turn leave in one packet. */
import type pg from 'pg'
import type { Param } from '../store.ts'
import type { Statement } from './statement-cache.ts'

export type StatementResult = Pick<pg.QueryResult<object>, 'rows' | 'rowCount'>
type Failure = Error | null | undefined
export type StatementAnswer = (error: Failure, result: StatementResult) => void

export function send(client: pg.Client, statement: Statement, params: Param[], answer: StatementAnswer): void {
  gather(client)
  client.query<object>({ ...named(statement), text: statement.text, values: params }, (error, result) => {
    if (error) {
      answer(error, result)
      return
    }
    const { rows, rowCount } = result
    // With `query_timeout`, V8 promotes the rows of finished queries to the old generation: 70 MB for a list of a million
    // items. Removing the rows from the driver's result avoids this.
    result.rows = []
    answer(null, { rows, rowCount })
  })
}

/** Sends BEGIN, COMMIT and the like. */
export function sendControl(
  client: pg.Client,
  sql: string,
  answer: (error: Failure, result: pg.QueryResult<object>) => void,
): void {
  gather(client)
  client.query<object>(sql, answer)
}

export function control(client: pg.Client, sql: string): Promise<pg.QueryResult<object>> {
  return new Promise((resolve, reject) => {
    sendControl(client, sql, (error, result) => (error ? reject(error) : resolve(result)))
  })
}

function named(statement: Statement): { name?: string } {
  return statement.name === undefined ? {} : { name: statement.name }
}

function gather(client: pg.Client): void {
  const stream = client.connection.stream
  if (stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}
