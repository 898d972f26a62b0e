/** `troupe actors renew-passphrase`: replaces a passphrase that was lost with its key, or that others know. */
import { findActor, lockActor } from '../../actor/actor-store.ts'
import { parseActorId } from '../../actor/actor.ts'
import { replacePassphrase } from '../../actor/passphrases.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { commandArgs } from '../command-args.ts'
import { withExistingStore } from '../existing-store.ts'
import { print, printable } from '../output.ts'
import { UsageError } from '../usage-error.ts'

export async function renewPassphrase(args: readonly string[]): Promise<number> {
  const { words } = commandArgs('troupe actors renew-passphrase', args, {})
  const [id, ...more] = words
  if (id === undefined || more.length > 0)
    throw new UsageError('Cannot run troupe actors renew-passphrase: expected the id of one actor.')
  return withExistingStore(async (store, config) => {
    const ring = await keyRingOf(config)
    const passphrase = await store.write(async (tx) => {
      if (parseActorId(id) === null || (await lockActor(tx, id)).length === 0) return null
      return (await findActor(tx, id)) === null ? null : replacePassphrase(tx, ring, id)
    })
    if (passphrase === null)
      throw new UsageError(`Cannot renew the passphrase of actor ${printable(id)}: it does not exist.`)
    print(`The new passphrase of actor ${id} is ${passphrase}`)
    return 0
  })
}
