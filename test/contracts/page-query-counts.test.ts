import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { type Cost, QueryCosts, statementsOf } from '../support/query-costs.ts'
import { routes, sampleOf } from '../support/routes.ts'
import { forEachService } from '../support/service.ts'

/** Costs of the sample request of every page of the owner (test/support/routes.ts). A page without an entry fails its test. */
const costs: Readonly<Record<string, Cost>> = {
  exportPage: { statements: 21, inPages: 30, rules: null, bySession: true },
  importPage: { statements: 6, rules: null, bySession: true },
  importForm: { statements: 3, rules: null, bySession: true },
  movePage: { statements: 7, rules: null, bySession: true },
  moveForm: { statements: 3, rules: null, bySession: true },
  historyPage: { statements: 8, rules: null, bySession: true },
  undoPage: { statements: 8, rules: null, bySession: true },
  historyForm: { statements: 4, rules: null, bySession: true },
  undoForm: { statements: 2, rules: null, bySession: true },
  passkeysPage: { statements: 7, rules: null, bySession: true },
  passkeysForm: { statements: 21, rules: null, bySession: true },
  filesPage: { statements: 7, rules: null, bySession: true },
  filesForm: { statements: 3, rules: null, bySession: true },
  dashboard: { statements: 16, rules: null, bySession: true },
  settingsPage: { statements: 8, rules: null, bySession: true },
  settingsForm: { statements: 13, sharded: 17, rules: null, bySession: true },
  mailPage: { statements: 6, rules: null, bySession: true },
  mailForm: { statements: 8, rules: null, bySession: true },
  firstSteps: { statements: 5, rules: null, bySession: true },
  membersPage: { statements: 1, rules: null, bySession: true },
  membersForm: { statements: 1, rules: null, bySession: true },
  ownPage: { statements: 1, rules: null, bySession: true },
  ownPageForm: { statements: 1, rules: null, bySession: true },
  propertiesPage: { statements: 9, rules: null, bySession: true },
  selectionForm: { statements: 9, sharded: 10, rules: null, bySession: true },
  createPropertyForm: { statements: 4, rules: null, bySession: true },
  propertyPage: { statements: 11, rules: null, bySession: true },
  propertyForm: { statements: 4, rules: null, bySession: true },
  deletePropertyForm: { statements: 5, rules: null, bySession: true },
  itemForm: { statements: 9, rules: null, bySession: true },
  listTextsForm: { statements: 5, rules: null, bySession: true },
  trustPage: { statements: 8, rules: null, bySession: true },
  trustNewPage: { statements: 5, rules: null, bySession: true },
  invitePage: { statements: 6, rules: null, bySession: true },
  inviteForm: { statements: 10, rules: null, bySession: true },
  requestTrustForm: { statements: 11, rules: null, bySession: true },
  peerPage: { statements: 19, rules: null, bySession: true },
  peerForm: { statements: 8, rules: null, bySession: true },
  rightsForm: { statements: 8, rules: null, bySession: true },
  accessForm: { statements: 8, rules: null, bySession: true },
  viewAsPeerPage: { statements: 12, rules: null, bySession: true },
  subscriptionsPage: { statements: 11, rules: null, bySession: true },
  subscriptionPage: { statements: 9, rules: null, bySession: true },
  subscriptionForm: { statements: 6, rules: null, bySession: true },
  appsPage: { statements: 10, rules: null, bySession: true },
  appsForm: { statements: 4, rules: null, bySession: true },
  requestsPage: { statements: 12, rules: null, bySession: true },
  approvalPage: { statements: 4, rules: null, bySession: true },
  approvalForm: { statements: 3, rules: null, bySession: true },
  passwordAccessPage: { statements: 6, rules: null, bySession: true },
  passwordAccessForm: { statements: 2, rules: null, bySession: true },
  activityPage: { statements: 8, rules: null, bySession: true },
  activityExport: { statements: 2, rules: null, bySession: true },
  liveChanges: { statements: 1, rules: null, bySession: true },
}

forEachService((start, dialect) => {
  describe('the number of statements of a request for a page', () => {
    const requests = new QueryCosts()
    before(() => requests.begin(start))

    for (const route of routes.filter(({ access }) => access === 'www')) {
      const cost = costs[route.id]
      it(`is ${cost && statementsOf(cost, dialect)} for ${route.id}, however much data the actor has`, async () => {
        assert.ok(cost !== undefined, `Route ${route.id} has no entry in costs`)
        await requests.assertCosts({ method: route.method, ...sampleOf(route), ...cost })
      })
    }
  })
})
