/** The alarms of an actor, for application code. */
import type { ActorHandle } from '../app/actor-handle.ts'
import type {
  AlarmOptions,
  AlarmSetting,
  AlarmsHandle,
  DeclaredAlarm,
  TransactionAlarms,
} from '../app/background/alarms.ts'
import { alarmId, type Alarms } from '../job/alarms.ts'
import type { ActorTransaction } from '../transaction/actor-transaction.ts'

type AlarmedActor = Pick<ActorHandle, 'id' | 'kind'>
type NamedAlarm = string | Pick<DeclaredAlarm, 'name'>

export function alarmsHandle(alarms: Alarms, actorId: string): AlarmsHandle {
  return {
    list: (alarm) => alarms.list(actorId, alarm === undefined ? undefined : nameOf(alarm)),
    get: async (alarm, key = '') => (await alarms.list(actorId, nameOf(alarm), key))[0],
    cancel: async (alarm, key = '') => alarms.cancel(actorId, alarmId(nameOf(alarm), key)),
  }
}

export function alarmSetting(alarms: Alarms, actor: AlarmedActor): AlarmSetting['alarm'] {
  return async (at: Date | number, alarm: NamedAlarm, data?: unknown, options?: AlarmOptions) =>
    alarms.set(actor.id, await alarms.prepare(actor.kind, nameOf(alarm), { at, data, key: options?.key }))
}

/** Sets and cancels alarms with the commit of a transaction. */
export function transactionAlarms(
  alarms: Alarms,
  transaction: ActorTransaction,
  actor: AlarmedActor,
): { readonly alarm: AlarmSetting['alarm']; readonly alarms: TransactionAlarms } {
  return {
    alarm: async (at: Date | number, alarm: NamedAlarm, data?: unknown, options?: AlarmOptions) => {
      const prepared = await alarms.prepare(actor.kind, nameOf(alarm), { at, data, key: options?.key })
      transaction.also((tx) => alarms.put(tx, actor.id, prepared))
    },
    alarms: {
      cancel: async (alarm, key = '') => {
        const id = alarmId(nameOf(alarm), key)
        transaction.also(async (tx) => void (await alarms.remove(tx, actor.id, id)))
      },
    },
  }
}

function nameOf(alarm: NamedAlarm): string {
  return typeof alarm === 'string' ? alarm : alarm.name
}
