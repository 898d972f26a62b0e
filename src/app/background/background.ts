/** Types of work in the background, as handlers receive it: events of changes, due alarms and schedules. */
import type { Caller } from '../../caller.ts'
import type { Json } from '../../json/json.ts'
import type { ActorHandle } from '../actor-handle.ts'
import type { DeclaredSchema, InferInput, InferOutput } from '../schema.ts'
import type { DeclaredAlarm } from './alarms.ts'

/** Who made a change. */
export interface ChangeCaller {
  readonly kind: Caller['kind']
  /** The id of the peer or of the client, or the session of the owner. */
  readonly id?: string
  /** The cause of the change: `tools/call add_note 7` of an AI client, or `alarm remind` of the application itself. */
  readonly call?: string
  readonly requestId?: string
}

/** The facts that every event of a change has. */
export interface ChangeEvent {
  readonly actor: ActorHandle
  /** The same for each attempt, so that a handler can recognize a repetition. */
  readonly id: string
  /** The name of the property, list or file. */
  readonly name: string
  /** Time of the change. */
  readonly at: Date
  readonly caller: ChangeCaller
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Aborts after 5 minutes, and when the service stops. */
  readonly signal: AbortSignal
}

/** A value was stored or deleted. @public */
export interface PropertyChanged extends ChangeEvent {
  readonly operation: 'set' | 'delete'
  /** The keys from the property to the changed part. Empty: the whole value. */
  readonly path: readonly string[]
  /** The new value at the path. Undefined after a deletion. */
  readonly value?: Json
}

/** A list was changed. @public */
export interface ListChanged extends ChangeEvent {
  readonly operation:
    | 'append'
    | 'insert'
    | 'update'
    | 'delete'
    | 'remove'
    | 'pop'
    | 'extend'
    | 'clear'
    | 'delete_all'
    | 'metadata'
  /** The length after the change. */
  readonly length: number
  /** The position of the change; for `extend`, of the first new item. */
  readonly index?: number
  /** The new item; for `pop` and `remove`, the removed item. */
  readonly item?: Json
  /** The items that `extend` added. */
  readonly items?: readonly Json[]
  /** The item before an `update` or `delete`. */
  readonly oldItem?: Json
}

/** A file was stored or deleted. @public */
export interface FileChanged extends ChangeEvent {
  readonly operation: 'put' | 'delete'
  /** The size in bytes, the media type and the SHA-256 of the new content. Undefined after a deletion. */
  readonly size?: number
  readonly type?: string
  readonly sha256?: string
}

/** The events that are stored with the change, and handled after it. */
export interface ChangeEvents {
  /** A value was stored or deleted. Fires after the commit, at least once, in the order of the actor's changes. */
  property_changed: PropertyChanged
  /** A list was changed. Fires after the commit, at least once, in the order of the actor's changes. */
  list_changed: ListChanged
  /** A file was stored or deleted. Fires after the commit, at least once, in the order of the actor's changes. */
  file_changed: FileChanged
}

/** A due alarm. @public */
export interface AlarmCall<Data = Json | undefined> {
  readonly actor: ActorHandle
  readonly name: string
  /** The key that distinguishes alarms of the same name. Empty: no key. */
  readonly key: string
  readonly data: Data
  /** The time for which the alarm was set. */
  readonly at: Date
  /** The same for each attempt, so that a handler can recognize a repetition. */
  readonly id: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Aborts after 5 minutes, and when the service stops. */
  readonly signal: AbortSignal
}

/** Runs when an alarm is due. @public */
export type AlarmHandler<Data = Json | undefined> = (call: AlarmCall<Data>) => unknown

/** The declared alarm for a schema of its data. */
export type AlarmOf<S extends DeclaredSchema> = DeclaredAlarm<InferInput<S>>
/** The handler of an alarm for a schema of its data. */
export type AlarmHandlerOf<S extends DeclaredSchema> = AlarmHandler<InferOutput<S>>

/** The interval of a schedule: a number with its unit, such as `30s`, `15m`, `1h` or `7d`. */
export type Interval = `${number}${'s' | 'm' | 'h' | 'd'}`

/** When a schedule runs. */
export type ScheduleTiming =
  | {
      /** The time from one occurrence to the next. The first is one interval after the schedule was first declared. */
      readonly every: Interval
    }
  | {
      /** A cron expression with 5 fields (minute, hour, day, month, weekday), or 6 with seconds in front. */
      readonly cron: string
      /** The time zone of the expression, such as `Europe/Berlin`. Default: `UTC`. */
      readonly timezone?: string
    }

/** An occurrence of a schedule. @public */
export interface ScheduleCall<Actors> {
  readonly name: string
  /** Access to the actors of the service. */
  readonly actors: Actors
  /** The time for which the occurrence was scheduled: the first one, when several were missed. */
  readonly scheduledAt: Date
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Aborts when the service stops, and when the process has lost its turn to another one. */
  readonly signal: AbortSignal
}
