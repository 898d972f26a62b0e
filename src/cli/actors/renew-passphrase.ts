/** `troupe actors renew-passphrase`: replaces a passphrase that was lost with its key, or that others know. */
import { findActor, lockActor, setPassphrase } from '../../actor/actor-store.ts'
import { parseActorId } from '../../actor/actor.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { randomPassphrase } from '../../secret/random.ts'
import { actorPassphrase, bindingOf } from '../../secret/sealed-columns.ts'
import { seal } from '../../secret/sealed.ts'
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
    const passphrase = randomPassphrase()
    const isRenewed = await store.write(async (tx) => {
      if (parseActorId(id) === null || (await lockActor(tx, id)).length === 0) return false
      if ((await findActor(tx, id)) === null) return false
      await setPassphrase(tx, id, seal(ring, passphrase, bindingOf(actorPassphrase, id)))
      return true
    })
    if (!isRenewed) throw new UsageError(`Cannot renew the passphrase of actor ${printable(id)}: it does not exist.`)
    print(`The new passphrase of actor ${id} is ${passphrase}`)
    return 0
  })
}
