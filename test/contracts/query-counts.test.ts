import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { PropertyAccess } from '../../src/app/declarations.ts'
import type { Json } from '../../src/json/json.ts'
import { countOf } from '../support/citus.ts'
import { actorOf, type Case, type Cost, form, lists, QueryCosts, send, statementsOf } from '../support/query-costs.ts'
import { routes, sampleOf } from '../support/routes.ts'
import { forEachService, type TestService } from '../support/service.ts'

/** Costs of the sample request of every route that is not a page (test/support/routes.ts). A route without an entry fails its test. */
const costs: Readonly<Record<string, Cost>> = {
  frontPage: { statements: 0, rules: 0 },
  protectedResourceOfActor: { statements: 0, rules: 0 },
  listApps: { statements: 4, rules: null },
  disconnectApp: { statements: 2, rules: null },
  streamChanges: { statements: 1, rules: null },
  listInvitations: { statements: 2, rules: null },
  createInvitation: { statements: 5, rules: null },
  deleteInvitation: { statements: 3, rules: null },
  showInvitation: { statements: 1, rules: 0 },
  listKeys: { statements: 2, rules: null },
  createKey: { statements: 8, rules: null },
  getKey: { statements: 2, rules: null },
  putKey: { statements: 3, rules: null },
  deleteKey: { statements: 2, rules: null },
  endOtherSessions: { statements: 4, sharded: 3, rules: null },
  getRemoteValue: { statements: 2, rules: null },
  getRemoteItems: { statements: 2, rules: null },
  listHistory: { statements: 2, rules: null },
  undoChanges: { statements: 2, rules: null },
  deleteHistory: { statements: 4, rules: null },
  exportActor: { statements: 21, inPages: 30, rules: null },
  getImport: { statements: 2, rules: null },
  importArchive: { statements: 4, rules: null },
  stopImport: { statements: 3, rules: null },
  getMove: { statements: 3, rules: 0 },
  announceMove: { statements: 0, rules: 0 },
  sendMovedArchive: { statements: 0, rules: 0, withToken: { status: 404, statements: 1 } },
  activateMove: { statements: 0, rules: 0, withToken: { status: 404, statements: 1 } },
  cancelMove: { statements: 0, rules: 0, withToken: { status: 404, statements: 1 } },
  postMovedCallback: { statements: 3, rules: 0 },
  getOwnMove: { statements: 3, rules: null },
  beginMove: { statements: 1, rules: null },
  stopMove: { statements: 3, rules: null },
  retryMovedPeers: { statements: 3, rules: null },
  moveClaimPage: { statements: 1, rules: 0 },
  moveClaimForm: { statements: 0, rules: 0 },
  getArrivedReaders: { statements: 1, rules: 0 },
  takeArrivedActor: { statements: 1, rules: 0 },
  listMembers: { statements: 1, rules: null },
  inviteMember: { statements: 1, rules: null },
  getMember: { statements: 1, rules: null },
  setMemberRole: { statements: 1, rules: null },
  removeMember: { statements: 1, rules: null },
  listWebhooks: { statements: 2, rules: null },
  addWebhook: { statements: 7, rules: null },
  getWebhook: { statements: 2, rules: null },
  removeWebhook: { statements: 3, rules: null },
  rotateWebhookSecret: { statements: 3, rules: null },
  testWebhook: { statements: 3, rules: null },
  listWebhookDeliveries: { statements: 2, rules: null },
  redriveWebhook: { statements: 3, rules: null },
  login: { statements: 0, rules: 0 },
  signInAtHost: { statements: 0, rules: 0 },
  createActor: { statements: 2, rules: 0 },
  live: { statements: 0, rules: 0 },
  ready: { statements: 0, rules: 0 },
  metrics: { statements: 3, postgres: 4, sharded: 3, rules: 0 },
  openapi: { statements: 0, rules: 0 },
  reference: { statements: 0, rules: 0 },
  asset: { statements: 0, rules: 0 },
  bot: { statements: 0, rules: 0 },
  registerClient: { statements: 3, sharded: 2, rules: 0 },
  authorizePage: { statements: 0, rules: 0 },
  authorizeDecision: { statements: 0, rules: 0 },
  authorizeFinish: { statements: 0, rules: 0 },
  clientToken: { statements: 0, rules: 0 },
  revokeClientToken: { statements: 0, rules: 0 },
  authorizationServer: { statements: 0, rules: 0 },
  authorizationServerOfMcp: { statements: 0, rules: 0 },
  protectedResource: { statements: 0, rules: 0 },
  protectedResourceOfMcp: { statements: 0, rules: 0 },
  mcpMessage: { statements: 0, rules: 0 },
  mcpInfo: { statements: 0, rules: 0 },
  endMcpSession: { statements: 0, rules: 0 },
  mcpInfoPage: { statements: 0, rules: 0 },
  getSession: { statements: 0, rules: 0 },
  getSpaSession: { statements: 0, rules: 0 },
  revokeToken: { statements: 1, rules: 0 },
  revokeSpaToken: { statements: 1, rules: 0 },
  askLogout: { statements: 0, rules: 0 },
  logout: { statements: 0, rules: 0 },
  spaLogout: { statements: 0, rules: 0 },
  exchangeSpaSession: { statements: 2, rules: 0 },
  beginSignIn: { statements: 0, rules: 0 },
  signInCallback: { statements: 0, rules: 0 },
  signInFormCallback: { statements: 0, rules: 0 },
  passkeyPage: { statements: 0, rules: 0 },
  passkeyForm: { statements: 0, rules: 0 },
  emailLinkPage: { statements: 0, rules: 0 },
  emailLinkForm: { statements: 0, rules: 0 },
  deviceAuthorization: { statements: 0, rules: 0 },
  deviceQrCode: { statements: 0, rules: 0 },
  devicePage: { statements: 0, rules: 0 },
  deviceForm: { statements: 1, rules: 0 },
  operatorTeam: { statements: 1, rules: 0 },
  operatorTeamForm: { statements: 1, rules: 0 },
  ownerLink: { statements: 1, rules: 0 },
  ownerLinkForm: { statements: 0, rules: 0 },
  operatorStatus: { statements: 1, rules: 0 },
  operatorActors: { statements: 1, rules: 0 },
  operatorActor: { statements: 1, rules: 0 },
  operatorActorForm: { statements: 1, rules: 0 },
  operatorDeliveries: { statements: 1, rules: 0 },
  operatorPrograms: { statements: 1, rules: 0 },
  firstOperator: { statements: 2, rules: 0 },
  firstOperatorForm: { statements: 0, rules: 0 },
  claimActor: { statements: 0, rules: 0 },
  oauthConfig: { statements: 0, rules: 0 },
  spaConfig: { statements: 0, rules: 0 },
  spaAuthorize: { statements: 0, rules: 0 },
  askEmail: { statements: 0, rules: 0 },
  enterEmail: { statements: 1, rules: 0 },
  unsubscribePage: { statements: 1, rules: 0 },
  unsubscribe: { statements: 1, rules: 0 },
  verifyEmail: { statements: 2, rules: 0 },
  followEmail: { statements: 3, rules: null },
  spaCallback: { statements: 0, rules: 0 },
  spaToken: { statements: 1, rules: 0 },
  getActor: { statements: 1, rules: null },
  deleteActor: { statements: 13, sharded: 17, rules: null },
  listFiles: { statements: 2, rules: 1 },
  getFile: { statements: 2, rules: 1 },
  putFile: { statements: 10, rules: 1 },
  deleteFile: { statements: 3, rules: 1 },
  getMeta: { statements: 1, rules: 0 },
  getMetaValue: { statements: 1, rules: 0 },
  listActivity: { statements: 2, rules: null },
  listApprovals: { statements: 2, rules: null },
  getApproval: { statements: 2, rules: null },
  decideApproval: { statements: 2, rules: null },
  listProperties: { statements: 2, rules: 1 },
  postProperties: { statements: 5, rules: 1 },
  putProperties: { statements: 5, rules: 1 },
  deleteProperties: { statements: 9, sharded: 10, rules: 2 },
  getProperty: { statements: 2, rules: 1 },
  putProperty: { statements: 4, rules: 1 },
  postProperty: { statements: 5, rules: 2 },
  deleteProperty: { statements: 5, rules: 2 },
  getListItems: { statements: 3, rules: 1, again: 2 },
  changeListItem: { statements: 9, rules: 2 },
  getListMetadata: { statements: 2, rules: 1 },
  putListMetadata: { statements: 5, rules: 2 },
  listMethods: { statements: 1, rules: 1 },
  getMethod: { statements: 1, rules: 1 },
  callMethod: { statements: 1, rules: 1 },
  putMethod: { statements: 1, rules: 1 },
  deleteMethod: { statements: 1, rules: 1 },
  listActions: { statements: 1, rules: 1 },
  getAction: { statements: 4, rules: 1 },
  callAction: { statements: 4, rules: 1 },
  putAction: { statements: 4, rules: 1 },
  deleteAction: { statements: 4, rules: 1 },
  getResource: { statements: 1, rules: 1 },
  postResource: { statements: 1, rules: 1 },
  putResource: { statements: 1, rules: 1 },
  deleteResource: { statements: 1, rules: 1 },
  listTrusts: { statements: 2, rules: null },
  requestTrust: { statements: 8, rules: null },
  putTrustee: { statements: 3, rules: null },
  deleteTrustee: { statements: 3, rules: null },
  listServices: { statements: 2, rules: null },
  connectService: { statements: 2, rules: null },
  serviceCallback: { statements: 1, rules: null },
  disconnectService: { statements: 3, rules: null },
  sharedServiceCallback: { statements: 0, rules: 0 },
  getTrustsNamed: { statements: 2, rules: null },
  receiveTrust: { statements: 11, rules: 0 },
  putTrustNamed: { statements: 8, rules: null },
  deleteTrustNamed: { statements: 10, sharded: 11, rules: null },
  getTrust: { statements: 2, rules: null },
  notifyTrust: { statements: 4, rules: 0, byNamedPeer: true },
  putTrust: { statements: 8, rules: null },
  deleteTrust: { statements: 10, sharded: 11, rules: null },
  listSessions: { statements: 2, rules: null },
  endSession: { statements: 3, rules: null },
  listPasswordAccess: { statements: 2, rules: null },
  decidePasswordAccess: { statements: 2, rules: null },
  getPermissions: { statements: 3, rules: null },
  putPermissions: { statements: 6, rules: null },
  deletePermissions: { statements: 6, rules: null },
  getSharedProperties: { statements: 8, rules: 0, byNamedPeer: true },
  getGrantedPermissions: { statements: 3, rules: null },
  listSubscriptions: { statements: 2, rules: null },
  subscribe: { statements: 16, rules: null },
  listSubscriptionsOfPeer: { statements: 2, rules: null },
  receiveSubscription: { statements: 6, rules: null, byNamedPeer: true },
  pollSubscription: { statements: 3, rules: null },
  acknowledgeSubscription: { statements: 2, rules: null },
  endSubscription: { statements: 6, rules: null },
  readDiff: { statements: 2, rules: null },
  redriveSubscription: { statements: 2, rules: null },
  postSubscriptionCallback: { statements: 2, rules: null, byNamedPeer: true },
  putSubscriptionCallback: { statements: 2, rules: null, byNamedPeer: true },
  deleteSubscriptionCallback: { statements: 6, rules: null },
  postPermissionCallback: { statements: 6, rules: null, byNamedPeer: true },
  putPermissionCallback: { statements: 6, rules: null, byNamedPeer: true },
  getCallback: { statements: 1, rules: 0 },
  postCallback: { statements: 1, rules: 0 },
  putCallback: { statements: 1, rules: 0 },
  deleteCallback: { statements: 1, rules: 0 },
  devtestProxyCreate: { statements: 18, rules: null },
  devtestProxyGet: { statements: 17, rules: null },
  devtestProxyPut: { statements: 17, rules: null },
  devtestProxyDelete: { statements: 17, rules: null },
  devtestGet: { statements: 2, rules: null },
  devtestPut: { statements: 3, rules: null },
  devtestPost: { statements: 3, rules: null },
  devtestDelete: { statements: 3, rules: null },
}

const properties = '/:actor/properties'

/** Further requests that take another code path in a route. */
const cases: Readonly<Record<string, Case>> = {
  'list, full': { method: 'GET', path: `${properties}?format=full`, status: 200, statements: 4, rules: 1 },
  'list, metadata': { method: 'GET', path: `${properties}?metadata=true`, status: 200, statements: 2, rules: 1 },
  'actor root as a browser': {
    method: 'GET',
    path: '/:actor',
    headers: { accept: 'text/html' },
    status: 302,
    statements: 1,
    rules: 0,
  },
  'a key of a value': { method: 'GET', path: `${properties}/settings/theme`, status: 200, statements: 2, rules: 1 },
  'a name that does not exist': { method: 'GET', path: `${properties}/absent`, status: 404, statements: 2, rules: 1 },
  'a list': { method: 'GET', path: `${properties}/notes`, status: 200, statements: 3, rules: 1, again: 2 },
  'a list in short format': {
    method: 'GET',
    path: `${properties}/notes?format=short`,
    status: 200,
    statements: 3,
    rules: 2,
  },
  'an item by path': { method: 'GET', path: `${properties}/notes/0`, status: 200, statements: 6, rules: 2 },
  'an item by query': { method: 'GET', path: `${properties}/notes?index=-1`, status: 200, statements: 6, rules: 2 },
  'an item beyond the end': { method: 'GET', path: `${properties}/notes/100000`, status: 404, statements: 3, rules: 2 },
  'a key named items': { method: 'GET', path: `${properties}/settings/items`, status: 200, statements: 3, rules: 2 },
  'a nested value set': {
    method: 'PUT',
    path: `${properties}/settings/theme`,
    body: 'dark',
    status: 204,
    statements: 6,
    rules: 2,
  },
  'an indexed value set': {
    method: 'PUT',
    path: `${properties}/email`,
    body: ':actor@example.com',
    status: 204,
    statements: 6,
    sharded: 7,
    rules: 1,
  },
  'a value set to an empty string': {
    method: 'PUT',
    path: `${properties}/color`,
    body: '',
    status: 204,
    statements: 4,
    rules: 1,
  },
  'an item replaced by path': {
    method: 'PUT',
    path: `${properties}/notes/0`,
    body: 'x',
    status: 204,
    statements: 10,
    rules: 3,
  },
  'an item replaced by query': {
    method: 'PUT',
    path: `${properties}/notes?index=0`,
    body: 'x',
    status: 204,
    statements: 10,
    rules: 3,
  },
  'an item appended': { method: 'POST', path: `${properties}/notes`, body: 'x', status: 201, statements: 10, rules: 3 },
  'a nested value deleted': {
    method: 'DELETE',
    path: `${properties}/settings/theme`,
    status: 204,
    statements: 6,
    rules: 2,
  },
  'an item deleted by path': { method: 'DELETE', path: `${properties}/notes/0`, status: 204, statements: 11, rules: 3 },
  'an item deleted by query': {
    method: 'DELETE',
    path: `${properties}/notes?index=0`,
    status: 204,
    statements: 11,
    rules: 3,
  },
  'a list deleted': { method: 'DELETE', path: `${properties}/notes`, status: 204, statements: 8, sharded: 9, rules: 3 },
  'an item updated by an action': {
    method: 'POST',
    path: `${properties}/notes/items`,
    body: { action: 'update', item_index: 0, item_value: 'x' },
    status: 204,
    statements: 9,
    rules: 2,
  },
  'an item deleted by an action': {
    method: 'POST',
    path: `${properties}/notes/items`,
    body: { action: 'delete', item_index: 0 },
    status: 204,
    statements: 10,
    rules: 2,
  },
  'a hundred values at once': {
    method: 'PUT',
    path: properties,
    body: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`new${n}`, n])),
    status: 204,
    statements: 5,
    rules: 1,
  },
  'values and empty strings set at once': {
    method: 'PUT',
    path: properties,
    body: { color: '', fresh: 1, email: ':actor@example.com' },
    status: 204,
    statements: 8,
    sharded: 9,
    rules: 1,
  },
  'a list created': {
    method: 'POST',
    path: properties,
    body: { fresh: { _type: 'list' } },
    status: 201,
    statements: 5,
    rules: 1,
  },
  'a list created again': {
    method: 'POST',
    path: properties,
    body: { notes: { _type: 'list', description: 'x' } },
    status: 201,
    statements: 6,
    rules: 1,
  },
  'a form': {
    method: 'POST',
    path: properties,
    body: 'color=red&more=1',
    headers: form,
    status: 201,
    statements: 5,
    rules: 1,
  },
  'a batch on one list': {
    method: 'POST',
    path: properties,
    body: { notes: { items: [{ index: 0, text: 'x' }, { index: 1 }] } },
    status: 201,
    statements: 11,
    rules: 1,
  },
  'JSON-RPC': {
    method: 'POST',
    path: '/:actor/methods',
    body: { jsonrpc: '2.0', method: 'greet', id: 1 },
    status: 200,
    statements: 1,
    rules: 1,
  },
  'all attributes': { method: 'GET', path: '/:actor/devtest/attribute', status: 200, statements: 3, rules: null },
  'a bucket': { method: 'GET', path: '/:actor/devtest/attribute/box', status: 200, statements: 2, rules: null },
  'no credentials': {
    method: 'GET',
    path: properties,
    headers: { authorization: '' },
    status: 401,
    statements: 1,
    rules: 0,
  },
  'a wrong passphrase': {
    method: 'GET',
    path: properties,
    headers: { authorization: 'Basic Y3JlYXRvcjp4' },
    status: 403,
    statements: 1,
    rules: 0,
  },
  'an unknown actor': { method: 'GET', path: '/absent/properties', status: 404, statements: 2, rules: 0 },
  'an unknown address': { method: 'GET', path: '/:actor/nothing', status: 404, statements: 0, rules: 0 },
  'a method that is not allowed': { method: 'POST', path: '/:actor', status: 405, statements: 0, rules: 0 },
}

forEachService((start, dialect) => {
  describe('the number of statements of a request', () => {
    const requests = new QueryCosts()
    before(() => requests.begin(start))

    for (const route of routes.filter(({ access }) => access !== 'www')) {
      const cost = costs[route.id]
      it(`is ${cost && statementsOf(cost, dialect)} for ${route.id}, however much data the actor has`, async () => {
        assert.ok(cost !== undefined, `Route ${route.id} has no entry in costs`)
        await requests.assertCosts({ method: route.method, ...sampleOf(route), ...cost })
      })
    }

    for (const [what, request] of Object.entries(cases)) {
      it(`is ${statementsOf(request, dialect)} for ${what}, however much data the actor has`, () =>
        requests.assertCosts(request))
    }

    it('grows in a bulk write by a fixed number for each list, and not with the amount of data', async () => {
      const { service } = requests
      const actor = await actorOf(service, 'much', 300)
      const cost = async (body: unknown): Promise<number> => {
        service.reset()
        assert.equal((await actor.request('PUT', '/properties', body)).status, 204)
        return countOf(service.statements)
      }
      for (const count of [1, 2, 4]) {
        const named = lists.slice(0, count)
        for (const entries of [1, 60]) {
          const indices = Array.from({ length: entries }, (_, index) => index)
          const updates = { items: indices.map((index) => ({ index, text: 'new' })) }
          const deletions = { items: indices.map((index) => ({ index })) }
          const of = (value: unknown): unknown => Object.fromEntries(named.map((list) => [list, value]))
          assert.equal(await cost(of(updates)), 2 + 7 * count)
          // One statement for each list deletes the nodes that became too small.
          const all = await cost(of(deletions))
          const shrinking = service.statements.filter((sql) => sql.includes('DELETE FROM list_node')).length
          assert.equal(all - shrinking, 2 + 8 * count)
          assert.ok(shrinking <= count)
        }
        const made = Object.fromEntries(named.map((list) => [`${list}${count}`, { _type: 'list' }]))
        assert.equal(await cost(made), 2 + 3 * count)
        // Three statements write all values.
        assert.equal(await cost({ ...made, one: 1 }), 2 + 2 * count + 3)
      }
    })
  })

  describe('the number of statements of a request with hooks', () => {
    let service: TestService
    before(async () => {
      const hook = ({ value }: PropertyAccess): Json => value
      service = await start({ declare: (app) => app.property('*', hook) })
    })

    const hooked: Readonly<Record<string, Omit<Case, 'rules'>>> = {
      'the listing': { method: 'GET', path: properties, status: 200, statements: 2 },
      'the listing in full': { method: 'GET', path: `${properties}?format=full`, status: 200, statements: 4 },
      'a list': { method: 'GET', path: `${properties}/notes`, status: 200, statements: 3 },
      'the metadata of a list': { method: 'GET', path: `${properties}/notes/metadata`, status: 200, statements: 2 },
      'the deletion of all': { method: 'DELETE', path: properties, status: 204, statements: 13, sharded: 14 },
      'the deletion of an item': { method: 'DELETE', path: `${properties}/notes/0`, status: 204, statements: 15 },
      'a batch that deletes one item': {
        method: 'PUT',
        path: properties,
        body: { notes: { items: [{ index: 0 }] } },
        status: 204,
        statements: 14,
      },
      'a batch that deletes a hundred items': {
        method: 'PUT',
        path: properties,
        body: { notes: { items: Array.from({ length: 100 }, (_, index) => ({ index })) } },
        status: 204,
        statements: 14,
      },
    }
    for (const [what, request] of Object.entries(hooked)) {
      const statements = statementsOf(request, dialect)
      it(`is ${statements} for ${what}, however much data the actor has`, async () => {
        for (const size of ['little', 'much'] as const) {
          const actor = await actorOf(service, size)
          service.reset()
          const answer = await send(service, { ...request, rules: null }, actor, actor.authorization)
          await answer.text()
          assert.deepEqual([answer.status, countOf(service.statements)], [request.status, statements], size)
        }
      })
    }
  })
})
