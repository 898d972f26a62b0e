/** The declared alarms and schedules of an application. */
import { ConfigError, problemIn } from '../../config/config-error.ts'
import type { AlarmDeclaration } from './alarms.ts'
import type { AlarmHandler, ScheduleCall, ScheduleTiming } from './background.ts'
import { type MembersOf, requireMembers } from '../known-members.ts'
import { type Timing, timingOf } from './schedule-timing.ts'
import { inputSchema, type Schema, schemaFault } from '../schema.ts'
import { requireNamedHandler } from '../validate-declarations.ts'

export interface DeclaredAlarmHandler {
  /** Null: any data. */
  readonly schema: Schema | null
  /** The data fits the schema. */
  readonly handler: AlarmHandler<never>
}

export interface DeclaredSchedule {
  readonly name: string
  readonly timing: Timing
  readonly handler: (call: Omit<ScheduleCall<never>, 'actors'>) => unknown
}

const alarmMembers: MembersOf<AlarmDeclaration> = { data: true, dataSchema: true }

export class BackgroundDeclarations {
  readonly #alarms = new Map<string, DeclaredAlarmHandler>()
  readonly #schedules = new Map<string, DeclaredSchedule>()

  get alarms(): ReadonlyMap<string, DeclaredAlarmHandler> {
    return this.#alarms
  }

  get schedules(): ReadonlyMap<string, DeclaredSchedule> {
    return this.#schedules
  }

  addAlarm(name: string, declaration: AlarmDeclaration | null, handler: AlarmHandler<never>): void {
    requireNew('alarm', name, this.#alarms.has(name), handler)
    this.#alarms.set(name, { schema: schemaOf(name, declaration), handler })
  }

  /** @param given The handler as the application declared it, which `handler` calls. */
  addSchedule(name: string, timing: ScheduleTiming, given: unknown, handler: DeclaredSchedule['handler']): void {
    requireNew('schedule', name, this.#schedules.has(name), given)
    const what = `Cannot declare the schedule ${JSON.stringify(name)}:`
    this.#schedules.set(name, { name, timing: timingOf(what, timing), handler })
  }

  /** Loads the schemas of alarms. @throws ConfigError */
  async prepare(): Promise<void> {
    for (const [name, { schema }] of this.#alarms) {
      try {
        await schema?.load()
        await schema?.requireLinear()
      } catch (error) {
        throw new ConfigError(`Cannot declare the alarm ${JSON.stringify(name)}: its data ${schemaFault(error)}.`)
      }
    }
  }
}

const longestName = 100
/** Schedules of the service have such names. */
const reservedPrefix = 'troupe:'

function requireNew(kind: 'alarm' | 'schedule', name: string, isKnown: boolean, handler: unknown): void {
  requireNamedHandler(kind, name, handler)
  const what = `Cannot declare the ${kind} ${JSON.stringify(name)}:`
  if (name === '' || name.length > longestName || !name.isWellFormed() || name.includes('\0'))
    throw new ConfigError(`${what} its name must have 1 to ${longestName} characters.`)
  if (name.startsWith(reservedPrefix))
    throw new ConfigError(`${what} its name must not begin with ${reservedPrefix}, as those of the service do.`)
  if (isKnown) throw new ConfigError(`${what} the name is declared already.`)
}

function schemaOf(name: string, declaration: AlarmDeclaration | null): Schema | null {
  if (declaration === null) return null
  const what = `Cannot declare the alarm ${JSON.stringify(name)}:`
  requireMembers(what, alarmMembers, declaration)
  const data: unknown = declaration.data
  const isSchema = (typeof data === 'object' && data !== null) || (typeof data === 'function' && '~standard' in data)
  if (!isSchema) throw new ConfigError(`${what} data must be a zod schema, any other Standard Schema or a JSON Schema.`)
  try {
    return inputSchema(declaration.data, declaration.dataSchema)
  } catch (error) {
    throw new ConfigError(
      `Cannot convert the data of the alarm ${JSON.stringify(name)} to JSON Schema: ${problemIn(error)}. Declare dataSchema too.`,
    )
  }
}
