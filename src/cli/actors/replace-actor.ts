/** `troupe actors import --replace`: replaces the content of an actor by that of an archive. */
import { createReadStream } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { ChangeCounts } from '../../archive/compare-contents.ts'
import {
  type AroundReplacement,
  endReplacement,
  planReplacement,
  replaceActor,
  type ReplaceDeps,
  type ReplacementPlan,
} from '../../archive/replace-actor.ts'
import { putEntries } from '../../audit-log/audit-log-store.ts'
import type { Config } from '../../config/options.ts'
import { keepValues } from '../../history/history-store.ts'
import { insertChanges } from '../../live/change-store.ts'
import { beginWork } from '../../moving/arrival-store.ts'
import { pauseWork } from '../../moving/departure-store.ts'
import { contentQuotasWith } from '../../quotas.ts'
import { limitsIn } from '../../quota/quota.ts'
import { randomId } from '../../secret/random.ts'
import type { Transaction } from '../../store/store.ts'
import { isConfirmed } from '../confirm.ts'
import { withRestoring } from '../copies/restoring.ts'
import { publicUrlOf, withExistingStore } from '../existing-store.ts'
import { counted, counts, print, printable, printError, progressTo } from '../output.ts'

export interface ReplaceOptions {
  readonly as?: string
  readonly 'dry-run'?: boolean
  readonly yes?: boolean
}

/** How often the command looks whether the deliveries of the actor have ended, in milliseconds. */
const lookAgainMs = 200
const maxNamed = 20
const reason = 'troupe actors import --replace'

export async function replaceActorByCommand(path: string, options: ReplaceOptions): Promise<number> {
  return withExistingStore((store, config) =>
    withRestoring(store, config, (restoring) =>
      replace(
        {
          ...restoring,
          open: () => createReadStream(path, { highWaterMark: 1_048_576 }),
          baseUrl: publicUrlOf(config),
          quotas: contentQuotasWith(restoring.tables).map((quota) => ({
            quota,
            limit: limitsIn(config)(quota.setting),
          })),
          around: aroundReplacement(config),
          pause: () => setTimeout(lookAgainMs),
          progress: progressTo(process.stderr, 'records'),
        },
        options,
      ),
    ),
  )
}

async function replace(deps: ReplaceDeps, options: ReplaceOptions): Promise<number> {
  const plan = await planReplacement(deps, options.as ?? null)
  try {
    for (const line of linesOf(plan)) print(line)
    if (options['dry-run'] === true) return 0
    const question = `Replace the content of actor ${plan.actorId} of ${printable(plan.creator)}? Type its id to confirm: `
    if (!(await isConfirmed(question, { answer: plan.actorId, act: 'replace the content', isSure: options.yes }))) {
      print('Nothing was changed.')
      return 1
    }
    await replaceActor(deps, plan).catch((error: unknown) => {
      printError(
        `If requests to actor ${plan.actorId} return 503 now, run the command again: it begins from the start.`,
      )
      throw error
    })
    print(`Replaced the content of actor ${plan.actorId}.`)
    return 0
  } finally {
    await endReplacement(deps, plan)
  }
}

function* linesOf({ changes, leftOut, unrelated, isBegun }: ReplacementPlan): Generator<string> {
  if (isBegun) yield 'A replacement has begun and is not complete: the actor is closed.'
  for (const [kind, count] of Object.entries(changes)) yield `${kind.padEnd(10)}  ${countsOf(count)}`
  if (Object.keys(changes).length === 0) yield 'The actor and the archive are empty.'
  if (Object.keys(leftOut).length > 0) yield `Not imported: ${counts(leftOut)}.`
  if (unrelated.length === 0) return
  yield `Relationships of the archive that the actor has no longer, and that do not come back: ${unrelated.length}`
  for (const peer of unrelated.slice(0, maxNamed)) yield `  ${printable(peer)}`
}

function countsOf({ added, changed, removed, same }: ChangeCounts): string {
  return `${added} added, ${changed} changed, ${removed} removed, ${counted(same, 'stays', 'stay')} the same`
}

/** The rooms around the content of an actor. */
export function aroundReplacement(config: Pick<Config, 'historyDays' | 'historySize'>): AroundReplacement {
  return {
    pauseWork,
    beginWork,
    keepValues: async (tx, actorId, values, now) => {
      if (config.historyDays === 0 || values.length === 0) return
      const origin = JSON.stringify({ by: 'application', call: reason })
      const written = values.map((value) => ({ ...value, callerKind: 'application', caller: '', request: '', origin }))
      await keepValues(tx, actorId, written, now, Math.floor(config.historySize / 4))
    },
    record,
  }
}

async function record(tx: Transaction, actorId: string, now: number): Promise<void> {
  const entry = {
    actorId,
    at: now,
    id: randomId(),
    callerKind: 'operator',
    caller: 'command line',
    callerName: '',
    through: 'http',
    method: 'POST',
    path: '/import',
    decision: 'allowed',
    reason,
    status: 200,
    requestId: '',
    times: 1,
    device: '',
  } as const
  await putEntries(tx, [entry])
  // The number without a change shows pages and clients that they have missed some, so they read everything again.
  await tx.run('UPDATE actor SET version = version + 1 WHERE id = $1', actorId)
  await insertChanges(tx, actorId, [['import', actorId, '']], now)
}
