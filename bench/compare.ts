/** Measures servers under the same load in short alternating slices, so that noise of the machine affects all of them equally. */
import type { Loader, Running } from './process.ts'

export interface Sample {
  /** Requests per second. */
  readonly rate: number
  /** Processor time of the server per request, in microseconds. Noise affects this figure least. */
  readonly cpu: number
  /** Latencies in microseconds. */
  readonly p50: number
  readonly p99: number
  /** Resident memory in bytes. */
  readonly rss: number
}

/** The median of each figure, and the slices in their order. */
export interface Measured extends Sample {
  readonly samples: readonly Sample[]
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
  const samples: Sample[][] = servers.map(() => [])
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
        p50: result.p50,
        p99: result.p99,
        rss: after.rss,
      })
    }
  }
  return samples.map((taken) => ({
    rate: median(taken.map(({ rate }) => rate)),
    cpu: median(taken.map(({ cpu }) => cpu)),
    p50: median(taken.map(({ p50 }) => p50)),
    p99: median(taken.map(({ p99 }) => p99)),
    rss: median(taken.map(({ rss }) => rss)),
    samples: taken,
  }))
}

/** Returns the median of the ratios of neighboring slices, because noise that lasts affects both in the same way. */
export function pairedRatio(own: Measured, other: Measured, figure: 'rate' | 'cpu'): number {
  return median(own.samples.map((sample, at) => sample[figure] / (other.samples[at]?.[figure] ?? Number.NaN)))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
