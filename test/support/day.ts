/** Chooses among inputs that take turns from day to day, so that one run is short and some days run all of them. */

/** The environment variable with the day, such as `2031-01-31`, to repeat a run of another day. */
export const dayVariable = 'TROUPE_TEST_DAY'

/** Returns the number of days since 1970, by the environment or else of today in UTC. */
export function dayNumber(env: Readonly<NodeJS.ProcessEnv> = process.env): number {
  const given = env[dayVariable] ?? ''
  // Real time: the day decides.
  const day = given === '' ? Date.now() : Date.parse(`${given}T00:00:00Z`)
  if (Number.isNaN(day)) throw new Error(`Invalid ${dayVariable} "${given}": expected a date such as 2031-01-31.`)
  return Math.floor(day / 86_400_000)
}

/** The environment variable with which `npm test -- --full` runs the inputs of all days. */
export const everyDayVariable = 'TROUPE_TEST_EVERY_DAY'

/** Inputs take turns of this number of days. */
const turns = 3

/** Returns the turns of this run: the one of the day, or all of them. */
export function turnsOfRun(env: Readonly<NodeJS.ProcessEnv> = process.env): number[] {
  const all = Array.from({ length: turns }, (_, turn) => turn)
  return env[everyDayVariable] === 'yes' ? all : [dayNumber(env) % turns]
}

/** Returns the numbers from 1 on that are of this run. */
export function* numbersOfRun(env: Readonly<NodeJS.ProcessEnv> = process.env): Generator<number, never> {
  const ofRun = turnsOfRun(env)
  for (let round = 1; ; round += turns) for (const turn of ofRun) yield round + turn
}
