import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serverCommands, type TablePart } from '../../src/store/postgres/all-servers.ts'

const part = (table: string, number: number, range: string, port: number): TablePart => ({
  table,
  name: `${table}_${number}`,
  range,
  host: 'db',
  port,
})
const parts = [
  part('actor', 1, '-9', 5433),
  part('actor', 2, '0', 5434),
  part('actor', 3, '9', 5433),
  part('notice', 11, '-9', 5433),
  part('notice', 12, '0', 5434),
  part('notice', 13, '9', 5433),
]
const whole = (rows: string): string =>
  `SELECT COALESCE(json_agg(row_to_json(found)), '[]')::text FROM (${rows}) AS found`

describe('the command of a server', () => {
  it('reads each of its parts, and no part of another server', () => {
    assert.deepEqual(serverCommands('SELECT id FROM actor', [], parts.slice(0, 3)), [
      {
        host: 'db',
        port: 5433,
        sql: whole('(SELECT id FROM actor_1 AS actor) UNION ALL (SELECT id FROM actor_3 AS actor)'),
      },
      { host: 'db', port: 5434, sql: whole('(SELECT id FROM actor_2 AS actor)') },
    ])
  })

  it('joins parts with the same range', () => {
    const [first] = serverCommands('SELECT id FROM actor JOIN notice ON notice.sender = actor.id', [], parts)
    assert.equal(
      first?.sql,
      whole(
        '(SELECT id FROM actor_1 AS actor JOIN notice_11 AS notice ON notice.sender = actor.id) UNION ALL ' +
          '(SELECT id FROM actor_3 AS actor JOIN notice_13 AS notice ON notice.sender = actor.id)',
      ),
    )
  })

  it('contains the parameters as literals, with their quotes doubled', () => {
    const sql = 'SELECT id FROM actor WHERE created_at < $1 AND creator = $2 AND creator <> $2 AND trustee_root = $3'
    const [first] = serverCommands(sql, [-5, "it's FROM actor \\ $1", null], parts.slice(0, 1))
    assert.equal(
      first?.sql,
      whole(
        `(SELECT id FROM actor_1 AS actor WHERE created_at < -5 AND creator =  E'it''s FROM actor \\\\ $1' AND creator <>  E'it''s FROM actor \\\\ $1' AND trustee_root = NULL)`,
      ),
    )
  })

  it('does not exist for a table without parts', () => {
    assert.deepEqual(serverCommands('SELECT value FROM setting', [], []), [])
  })
})
