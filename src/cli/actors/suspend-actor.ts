/** `troupe actors suspend`, `resume` and `sign-out`: what operators do to one actor. */
import { parseActorId } from '../../actor/actor.ts'
import { holdWork, resumeWork } from '../../moving/held-work.ts'
import { resumeActor, signOutEverywhere, suspendActor } from '../../operator/suspension.ts'
import type { Store } from '../../store/store.ts'
import { commandArgs } from '../command-args.ts'
import { withExistingStore } from '../existing-store.ts'
import { counted, print, printable, printJson } from '../output.ts'
import { UsageError } from '../usage-error.ts'

const by = { operator: 'command line', device: '' }

const acts = {
  suspend: async (store: Store, id: string) => {
    await suspendActor({ store, holdWork, resumeWork }, id, by)
    return `Suspended actor ${id}.`
  },
  resume: async (store: Store, id: string) => {
    await resumeActor({ store, holdWork, resumeWork }, id, by)
    return `Resumed actor ${id}.`
  },
  'sign-out': async (store: Store, id: string) =>
    `Ended ${counted(await signOutEverywhere({ store }, id, by), 'session')}.`,
} as const

export async function actOnActor(act: keyof typeof acts, args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs(`troupe actors ${act}`, args, { json: 'boolean' })
  const [id, ...more] = words
  if (id === undefined || more.length > 0)
    throw new UsageError(`Cannot run troupe actors ${act}: expected the id of one actor.`)
  if (parseActorId(id) === null) throw new UsageError(`Cannot find actor ${printable(id)}: it does not exist.`)
  const done = await withExistingStore((store) => acts[act](store, id))
  if (options.json === true) printJson({ actor: id, done: act })
  else print(done)
  return 0
}
