/** Measures servers under the same load in short alternating slices, so that noise of the machine affects all of them equally. */
import type { Loader, Running } from './process.ts'

export interface Measured {
  /** Requests per second, as the median of the slices. */
  readonly rate: number
  /** Processor time of the server per request, in microseconds. Noise affects this figure least. */
  readonly cpu: number
  readonly p99: number
  readonly rss: number
}

export interface Slices {
  readonly rounds: number
  readonly milliseconds: number
  readonly connections: number
}

export async function compare(
  loader: Loader,
  servers: readonly Running[],
  requestsFor: (server: number) => readonly string[],
  slices: Slices,
): Promise<Measured[]> {
  const samples: Measured[][] = servers.map(() => [])
  for (let round = -1; round < slices.rounds; round += 1) {
    for (const [index, server] of servers.entries()) {
      const before = await server.usage()
      const result = await loader.run({
        port: server.port,
        connections: slices.connections,
        // The first round is a warm-up for the JIT compiler and is not counted.
        milliseconds: round < 0 ? 2500 : slices.milliseconds,
        requests: requestsFor(index),
      })
      const after = await server.usage()
      if (result.refused > 0) {
        throw new Error(
          `Cannot measure: ${result.refused} of ${result.answers} requests were refused, the first with ${result.refusal}`,
        )
      }
      if (round < 0) continue
      samples[index]?.push({
        rate: result.answers / result.seconds,
        cpu: (after.cpu - before.cpu) / result.answers,
        p99: result.p99,
        rss: after.rss,
      })
    }
  }
  return samples.map((taken) => ({
    rate: median(taken.map(({ rate }) => rate)),
    cpu: median(taken.map(({ cpu }) => cpu)),
    p99: median(taken.map(({ p99 }) => p99)),
    rss: median(taken.map(({ rss }) => rss)),
  }))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
