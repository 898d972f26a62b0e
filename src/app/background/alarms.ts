/** Types of alarms as applications set and list them. */
import type { Json } from '../../json/json.ts'
import type { DeclaredSchema, JsonSchema } from '../schema.ts'

/** The declaration of an alarm whose data has a schema. @public */
export interface AlarmDeclaration<S extends DeclaredSchema = DeclaredSchema> {
  /** Schema of the data, checked when the alarm is set. */
  readonly data: S
  /** JSON Schema to use instead of the one derived from `data`. */
  readonly dataSchema?: JsonSchema
}

/**
 * A declared alarm, the result of `App.alarm`.
 *
 * @typeParam Given the type of the data with which the alarm is set.
 * @public
 */
export interface DeclaredAlarm<Given = Json | object | undefined> {
  readonly kind: 'alarm'
  readonly name: string
  /** For the type checker only. */
  readonly '~types'?: { readonly given: Given }
}

/** A set alarm. @public */
export interface Alarm {
  readonly id: string
  readonly name: string
  /** Empty: no key. */
  readonly key: string
  readonly at: Date
  readonly data: Json | undefined
  /** `failed`: all attempts failed. The alarm waits for `troupe redrive`. */
  readonly state: 'waiting' | 'failed'
  /** Failed attempts. */
  readonly attempts: number
  /** Why the last attempt failed. Empty: none failed. */
  readonly reason: string
  /** Time of the next attempt. Null: none follows. */
  readonly nextAttemptAt: Date | null
}

export interface AlarmOptions {
  /** Distinguishes alarms of the same name. Default: no key. */
  readonly key?: string
}

/** The arguments after the alarm: its data, which may be missing when its type allows that, and its options. */
export type AlarmArguments<Given> = undefined extends Given
  ? [data?: Given, options?: AlarmOptions]
  : [data: Given, options?: AlarmOptions]

/** Sets alarms. */
export interface AlarmSetting {
  /**
   * Sets an alarm, and replaces the alarm of the same name and key. The handler of `app.alarm` runs at the time, within a
   * second while a process runs, and again after a failure. A time in the past means now.
   *
   * @param at A date, or Unix milliseconds.
   * @throws ServiceError `not_found` for a name that the application does not declare; `invalid_input` for data that does not
   *   fit its schema; `invalid_value` for an invalid time or key.
   */
  alarm<Given>(at: Date | number, alarm: DeclaredAlarm<Given>, ...given: AlarmArguments<Given>): Promise<void>
  alarm(at: Date | number, alarm: string, data?: Json | object, options?: AlarmOptions): Promise<void>
}

/** The alarms of an actor in a transaction. @public */
export interface TransactionAlarms {
  /** Cancels an alarm at the end of the transaction, if it is set. */
  cancel(alarm: string | Pick<DeclaredAlarm, 'name'>, key?: string): Promise<unknown>
}

/** The alarms of an actor. @public */
export interface AlarmsHandle {
  /** Returns the alarms, the next one first. */
  list(alarm?: string | Pick<DeclaredAlarm, 'name'>): Promise<Alarm[]>
  /** Returns undefined when the alarm is not set. */
  get(alarm: string | Pick<DeclaredAlarm, 'name'>, key?: string): Promise<Alarm | undefined>
  /** Cancels an alarm. Returns whether it was set. A handler that runs already continues. */
  cancel(alarm: string | Pick<DeclaredAlarm, 'name'>, key?: string): Promise<boolean>
}
