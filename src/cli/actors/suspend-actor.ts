/** `troupe actors suspend`, `resume`, `sign-out`, `sign-in-link` and `reset-limits`: acts of operators about one actor. */
import { parseActorId } from '../../actor/actor.ts'
import { sourceOf } from '../../http/edge/client-address.ts'
import { holdWork, resumeWork } from '../../moving/held-work.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { makeSignInLink, resetAccountLimits } from '../../operator/account-acts.ts'
import { resumeActor, signOutEverywhere, suspendActor } from '../../operator/suspension.ts'
import { resetLimits } from '../../rate-limit/resets.ts'
import { ownerLinkMinutes } from '../../sign-in/owner-links.ts'
import type { Store } from '../../store/store.ts'
import { OneTime } from '../../token/one-time.ts'
import { commandArgs, type OptionTypes } from '../command-args.ts'
import { publicUrlOf, withExistingStore } from '../existing-store.ts'
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

/** Prints the link with which the owner signs in once. */
export async function signInLink(args: readonly string[]): Promise<number> {
  const { id, isJson } = oneActor('sign-in-link', args)
  const link = await withExistingStore(async (store, config) => {
    if (!config.webUi)
      throw new UsageError('Cannot make a link to sign in: the pages of the service are off (TROUPE_WEB_UI).')
    const oneTime = new OneTime(await keyRingOf(config), store.now)
    return makeSignInLink({ store, oneTime, baseUrl: publicUrlOf(config) }, id, by, true)
  })
  if (isJson) printJson({ actor: id, link, minutes: ownerLinkMinutes })
  else print(`Within ${ownerLinkMinutes} minutes, this link signs the owner in once: ${link}`)
  return 0
}

export async function resetLimitsOfActor(args: readonly string[]): Promise<number> {
  const { id, isJson, sender } = oneActor('reset-limits', args)
  const source = sender === undefined ? null : sourceOf({ header: () => undefined, remoteAddress: sender }, 0)
  if (sender !== undefined && source === null)
    throw new UsageError(`Cannot run troupe actors reset-limits: ${printable(sender)} is not an IP address.`)
  const reset = await withExistingStore((store) => resetAccountLimits({ store, resetLimits }, id, by, source))
  if (isJson) printJson({ actor: id, reset })
  else print(`Reset ${counted(reset, 'limit')} of actor ${id}. Running processes notice it within 30 seconds.`)
  return 0
}

interface NamedActor {
  readonly id: string
  readonly isJson: boolean
  readonly sender: string | undefined
}

/** Reads the arguments of a command for one actor. The id names it: several actors may have one creator. @throws UsageError */
function oneActor(command: string, args: readonly string[]): NamedActor {
  const types: OptionTypes = command === 'reset-limits' ? { json: 'boolean', sender: 'string' } : { json: 'boolean' }
  const { words, options } = commandArgs(`troupe actors ${command}`, args, types)
  const [id, ...more] = words
  if (id === undefined || more.length > 0)
    throw new UsageError(`Cannot run troupe actors ${command}: expected the id of one actor.`)
  if (parseActorId(id) === null) throw new UsageError(`Cannot find actor ${printable(id)}: it does not exist.`)
  const { json, sender } = options as { readonly json?: boolean; readonly sender?: string }
  return { id, isJson: json === true, sender }
}

export async function actOnActor(act: keyof typeof acts, args: readonly string[]): Promise<number> {
  const { id, isJson } = oneActor(act, args)
  const done = await withExistingStore((store) => acts[act](store, id))
  if (isJson) printJson({ actor: id, done: act })
  else print(done)
  return 0
}
