/** Key rotation: seals all values of older keys again with the current key. */
import { ServiceError } from '../errors.ts'
import type { Param, Store, Transaction } from '../store/store.ts'
import { findForgottenKeys } from './forgotten-keys.ts'
import type { KeyRing } from './key-ring.ts'
import { isKeyMissing, keyIdOf, needsReseal, open, seal } from './sealed.ts'
import { type SealedColumn, sealedColumnsWith, type SealedTable } from './sealed-columns.ts'
import { sealedPage, type StoredSecret } from './sealed-pages.ts'

interface Page {
  readonly resealed: number
  /** One error for each value that does not open. */
  readonly failures: readonly ServiceError[]
  /** Key of the page's last row; null after the last page. */
  readonly last: readonly string[] | null
}

/**
 * Seals all columns again, in pages of one transaction each, while the service may run. When it resolves, no value needs
 * an older key, provided that every running process seals with the current key. It skips a value that does not open.
 * After a failure of the store, completed pages remain, and another call does the rest.
 *
 * @throws ServiceError `server_error` at the end when values did not open. Its reason names key, actor and field of the
 *   first value, and counts the others.
 */
export async function resealAll(
  store: Store,
  ring: KeyRing,
  tables: readonly SealedTable[],
): Promise<{ resealed: number }> {
  let resealed = 0
  let first: ServiceError | undefined
  let others = -1
  for (const column of sealedColumnsWith(tables)) {
    let last: readonly string[] | null = null
    do {
      const after: readonly string[] | null = last
      const page: Page = await store.write((tx) => resealPage(tx, ring, column, after))
      resealed += page.resealed
      first ??= page.failures[0]
      others += page.failures.length
      last = page.last
    } while (last !== null)
  }
  if (first === undefined) return { resealed }
  const more = others === 0 ? '' : `, and ${others} more ${others === 1 ? 'secret does' : 'secrets do'} not open`
  const rest = `every other secret is encrypted with key ${ring.currentId} now`
  throw new ServiceError('server_error', undefined, {
    reason: `${first.detail.reason ?? first.message}${more}; ${rest}`,
    cause: first,
  })
}

async function resealPage(
  tx: Transaction,
  ring: KeyRing,
  column: SealedColumn,
  after: readonly string[] | null,
): Promise<Page> {
  const { secrets, last } = await sealedPage(tx, column, after)
  const forgotten = await findForgottenKeys(tx)
  const failures: ServiceError[] = []
  let resealed = 0
  for (const secret of secrets) {
    if (!needsReseal(ring, secret.sealed) || isForgotten(ring, forgotten, secret)) continue
    try {
      resealed += await resealOne(
        tx,
        column,
        secret,
        seal(ring, open(ring, secret.sealed, secret.binding), secret.binding),
      )
    } catch (error) {
      if (!(error instanceof ServiceError) || (error.code !== 'server_error' && !isKeyMissing(error))) throw error
      failures.push(error)
    }
  }
  return { resealed, failures, last }
}

function isForgotten(ring: KeyRing, forgotten: ReadonlySet<string>, { sealed }: StoredSecret): boolean {
  const id = keyIdOf(sealed)
  return id !== null && !ring.keys.has(id) && forgotten.has(id)
}

/** Updates one value unless it changed meanwhile, because a new secret is already sealed with the current key. */
function resealOne(
  tx: Transaction,
  { table, column, key }: SealedColumn,
  secret: StoredSecret,
  sealed: string,
): Promise<number> {
  const params: Param[] = [sealed, secret.sealed, ...secret.key]
  return tx.run(
    `UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2` +
      key.map((name, index) => ` AND ${name} = $${index + 3}`).join(''),
    ...params,
  )
}
