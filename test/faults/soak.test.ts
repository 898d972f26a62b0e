import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { maxDiffs, runSoak } from '../support/soak.ts'

for (const store of ['sqlite', 'postgres'] as const) {
  describe(`two services on ${store}, under load with a fault in each period`, () => {
    it('converge on equal data and keep a bounded number of records (OPS-08, I4, I8)', async () => {
      const periods = await runSoak({ store, seed: 8, operations: 24, goesOn: (count) => count < 8 })
      assert.deepEqual(
        periods.flatMap(({ violations }) => violations),
        [],
      )
      // The tables reach their full size within the first periods, so growth is measured from period 5 on.
      const [full, last] = [periods[4], periods[7]]
      assert.ok(full !== undefined && last !== undefined)
      const bounds = {
        ...full.rows,
        diff: maxDiffs * 2,
        delivery: maxDiffs * 2,
        delivery_run: maxDiffs / 2,
        list_item: 15,
        property: 12,
        attribute: 60,
      }
      for (const { rows } of periods.slice(5)) {
        for (const [table, count] of Object.entries(rows)) {
          assert.ok(count <= (bounds[table as keyof typeof bounds] ?? 0), `${table}: ${count}`)
        }
      }
      assert.ok(last.handles <= full.handles + 20, `${full.handles} handles, then ${last.handles}`)
      assert.ok(last.heapBytes <= full.heapBytes + 16 * 2 ** 20, `${full.heapBytes} bytes, then ${last.heapBytes}`)
    })
  })
}
