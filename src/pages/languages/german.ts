/** The messages of the pages in German. */
import { html } from 'hono/html'
import type { RuledCategory } from '../../permission/rules.ts'
import type { Covered } from './english.ts'
import { formatsOf } from './formats.ts'
import { Declined, type GermanNoun } from './german-noun.ts'
import type { Messages } from './language.ts'

const { number, readNumber, numberText, readDate, and, or, plural, relative, date, day, exact, size } = formatsOf('de')

function count(value: number, one: string, many: string): string {
  return `${number(value)} ${plural(value, { one, other: many })}`
}

function inDays(days: number): string {
  return plural(days, { one: 'einen Tag lang', other: `${number(days)} Tage lang` })
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

function quote(name: string): string {
  return `„${name}“`
}

function quoted(names: readonly string[]): readonly string[] {
  return names.map(quote)
}

const frame: Messages['frame'] = {
  skip: 'Zum Inhalt springen',
  navigation: 'Hauptmenü',
  breadcrumb: 'Pfad',
  errorTitle: (title) => `Fehler: ${title}`,
  failing: (count) => `${count} mit Fehlern`,
  open: (count) => `${count} offen`,
  signOut: 'Abmelden',
}

const navigation: Messages['navigation'] = {
  overview: 'Übersicht',
  requests: 'Anfragen',
  properties: 'Eigenschaften',
  files: 'Dateien',
  connections: 'Verbindungen',
  subscriptions: 'Abonnements',
  apps: 'Verbundene Apps',
  activity: 'Aktivität',
  settings: 'Einstellungen',
}

const notices = (noun: Declined): Messages['notices'] => ({
  saved: 'Gespeichert.',
  created: 'Erstellt.',
  added: 'Element hinzugefügt.',
  addedSeveral: 'Elemente hinzugefügt.',
  moved: 'Verschoben.',
  uploaded: 'Datei hochgeladen.',
  deleted: 'Gelöscht.',
  asked: 'Anfrage gesendet. Die Antwort sehen Sie hier.',
  connected: 'Sie sind verbunden.',
  approved: 'Genehmigt.',
  withdrawn: 'Zugriff pausiert.',
  resumed: 'Zugriff wieder erlaubt.',
  connectionEnded: 'Verbindung getrennt.',
  subscriptionEnded: 'Abonnement beendet.',
  reset: 'Der Zugriff entspricht wieder der Zugriffsstufe.',
  allowed: 'Für einen Aufruf genehmigt.',
  refused: 'Abgelehnt.',
  followed: 'Abonniert.',
  actorSuspended: 'Gesperrt.',
  actorResumed: 'Sperre aufgehoben.',
  signedOutEverywhere: 'Auf allen Geräten abgemeldet.',
  limitsReset: 'Grenzwerte zurückgesetzt.',
  accountOfOwnerDeleted: 'Konto gelöscht.',
  operatorBegun: 'Sie betreiben jetzt diesen Dienst.',
  operatorAdded: 'Person hinzugefügt.',
  operatorRemoved: 'Person entfernt.',
  redriven: 'Die fehlgeschlagenen Aktualisierungen werden erneut gesendet.',
  signedOut: 'Gerät abgemeldet.',
  disconnected: 'App getrennt.',
  invitationRevoked: 'Einladung widerrufen.',
  roleGiven: 'Rolle gespeichert. Sie gilt ab der nächsten Anfrage.',
  memberRemoved: 'Mitglied entfernt.',
  keyRevoked: 'Schlüssel widerrufen.',
  youAreSignedOut: 'Sie sind abgemeldet.',
  accountDeleted: `${noun.ein('Ihr', 'nominative')} wurde gelöscht.`,
  sessionExpired: 'Ihre Sitzung ist abgelaufen. Melden Sie sich an, um fortzufahren.',
  signedInAgain: 'Ihre Sitzung war abgelaufen. Sie sind wieder angemeldet.',
  undone: 'Rückgängig gemacht.',
  undoneInPart: 'Rückgängig gemacht, außer was sich seitdem geändert hat.',
  historyDeleted: 'Verlauf gelöscht.',
  accessKept: 'Das Passwort gilt weiterhin.',
  accessRevoked: 'Das Passwort gilt nicht mehr.',
  importBegun: 'Import gestartet.',
  importStopped: 'Import angehalten.',
  moveBegun: 'Umzug gestartet.',
  moveStopped: 'Umzug abgebrochen.',
  peersTriedAgain: 'Neuer Versuch läuft.',
  passkeyAdded: 'Passkey hinzugefügt.',
  passkeyRemoved: 'Passkey entfernt.',
})

const errors: Messages['errors'] = {
  bad_request: 'Die Anfrage ist ungültig. Prüfen Sie die Eingabe und versuchen Sie es erneut.',
  invalid_json: 'Das ist kein gültiges JSON.',
  invalid_name: 'Dieser Name ist nicht erlaubt. Wählen Sie einen anderen.',
  invalid_value: 'Dieser Wert ist nicht erlaubt. Ändern Sie ihn und versuchen Sie es erneut.',
  invalid_index: 'Dieses Element gibt es nicht mehr.',
  invalid_input: 'Die Eingabe hat nicht die erwartete Form.',
  index_required: 'Die Liste ist für diese Suche zu lang.',
  rejected: 'Die Anwendung hat diesen Wert nicht angenommen.',
  no_result: 'Die Anwendung hat kein Ergebnis geliefert.',
  unauthorized: 'Melden Sie sich an, um fortzufahren.',
  actor_moved: 'Dieses Konto ist zu einem anderen Dienst umgezogen.',
  arrival_refused: 'Dieser Dienst nimmt das Konto nicht auf.',
  archive_missing: 'Der Inhalt des Kontos wird noch einmal gebraucht.',
  actor_suspended: 'Dieses Konto ist gesperrt. Wenden Sie sich an die Person, die diesen Dienst betreibt.',
  actor_moving: 'Dieses Konto zieht gerade zu einem anderen Dienst um. Versuchen Sie es gleich noch einmal.',
  insufficient_user_authentication: 'Melden Sie sich erneut an und wiederholen Sie es dann.',
  forbidden: 'Sie haben keinen Zugriff.',
  approval_required: 'Dieser Aufruf muss erst genehmigt werden.',
  approval_denied: 'Dieser Aufruf wurde abgelehnt.',
  forged_request: 'Dieses Formular ist veraltet. Laden Sie die Seite neu und versuchen Sie es erneut.',
  not_found: 'Diese Seite gibt es nicht. Vielleicht wurde sie gelöscht.',
  actor_not_found: 'Diese Seite gibt es nicht. Vielleicht wurde sie gelöscht.',
  method_not_allowed: 'Diese Seite nimmt solche Anfragen nicht an.',
  conflict: 'Der Stand hat sich inzwischen geändert. Prüfen Sie ihn und versuchen Sie es erneut.',
  not_connected: 'Verbinden Sie zuerst den Dienst.',
  no_address: 'Für dieses Konto ist keine E-Mail-Adresse bestätigt.',
  actor_exists: 'Diese E-Mail-Adresse wird bereits verwendet.',
  creation_closed: 'Sie erhalten Zugang, wenn Sie sich zum ersten Mal anmelden.',
  creator_exists: 'Diese E-Mail-Adresse wird bereits verwendet.',
  migration_failed: 'Dieser Wert kann nicht angezeigt werden: Er hat eine ältere Form.',
  value_corrupted: 'Dieser Wert ist beschädigt.',
  list_corrupted: 'Diese Liste ist beschädigt.',
  gone: 'Das ist nicht mehr verfügbar.',
  answer_not_kept: 'Das wurde bereits ausgeführt, und das Ergebnis ist nicht mehr verfügbar.',
  precondition_failed: 'Der Stand hat sich inzwischen geändert. Laden Sie die Seite neu und versuchen Sie es erneut.',
  payload_too_large: 'Das ist zu groß.',
  uri_too_long: 'Diese Adresse ist zu lang.',
  range_not_satisfiable: 'Diesen Teil der Datei gibt es nicht.',
  key_reused: 'Das wurde bereits mit anderem Inhalt gesendet.',
  unsupported_media_type: 'Diese Art von Inhalt wird nicht unterstützt.',
  headers_too_large:
    'Ihr Browser hat zu viele Daten gesendet. Löschen Sie die Cookies dieser Website und versuchen Sie es erneut.',
  peer_refused: 'Die Gegenseite hat das abgelehnt.',
  peer_failed: 'Die Gegenseite ist zurzeit nicht erreichbar. Versuchen Sie es später erneut.',
  request_timeout: 'Das Senden hat zu lange gedauert. Versuchen Sie es erneut.',
  too_many_requests: 'Zu viele Anfragen. Warten Sie einen Moment und versuchen Sie es erneut.',
  server_error: 'Etwas ist fehlgeschlagen. Versuchen Sie es später erneut.',
  secret_lost: 'Ein gespeichertes Geheimnis ist nicht mehr lesbar. Lege es neu fest oder frage den Betreiber.',
  file_missing: 'Der Inhalt dieser Datei fehlt.',
  not_implemented: 'Solche Anfragen werden nicht unterstützt.',
  service_failed: 'Der andere Dienst ist zurzeit nicht erreichbar. Versuchen Sie es später erneut.',
  provider_failed: 'Der Anmeldedienst hat nicht wie erwartet geantwortet. Versuchen Sie es erneut.',
  unknown_kind: 'Diese Version des Dienstes kennt diese Art von Konto nicht.',
  newer_data: 'Eine neuere Version dieses Dienstes hat diesen Wert gespeichert.',
  store_unavailable: 'Der Dienst ist vorübergehend nicht verfügbar. Versuchen Sie es später erneut.',
  mail_unavailable: 'Dieser Dienst sendet keine E-Mails.',
  unavailable: 'Das ist vorübergehend nicht verfügbar. Versuchen Sie es später erneut.',
  quota_exceeded: 'Ihr Speicher ist voll. Löschen Sie etwas, das Sie nicht mehr brauchen, und versuchen Sie es erneut.',
  insufficient_storage: 'Für Dateien ist kein Speicherplatz mehr frei.',
  shutting_down: 'Der Dienst startet neu. Versuchen Sie es in einem Moment erneut.',
}

const failed = (noun: Declined): Messages['failed'] => ({
  notFound: 'Nicht gefunden',
  noAccess: 'Kein Zugriff',
  conflict: 'Der Stand hat sich inzwischen geändert',
  tooManyRequests: 'Zu viele Anfragen',
  invalid: 'Mit dieser Anfrage stimmt etwas nicht',
  serviceFailed: 'Bei uns ist etwas schiefgelaufen',
  back: `Zurück zu ${noun.ein('Ihr', 'dative')}`,
  home: 'Zur Startseite',
  reference: (status, requestId) => html`Fehler ${status} · Anfrage-ID <code>${requestId}</code>`,
})

const live: Messages['live'] = {
  signedOut: 'Sie wurden abgemeldet. Laden Sie die Seite neu, um sich anzumelden.',
  deleted: 'Das wurde gelöscht.',
  editing:
    'Während Ihrer Bearbeitung an anderer Stelle geändert. Ihr Entwurf bleibt erhalten; beim Speichern sehen Sie beide Fassungen.',
  properties: (name) => `${name} aktualisiert`,
  trust: 'Verbindungen aktualisiert',
  subscriptions: 'Abonnements aktualisiert',
  sessions: 'Verbundene Apps aktualisiert',
  approvals: 'Genehmigungen aktualisiert',
  page: 'Seite aktualisiert',
}

const forms: Messages['forms'] = {
  cancel: 'Abbrechen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  optional: (label) => html`${label} <span class="kind">(optional)</span>`,
  required: (label) => html`${label} <span class="kind">(erforderlich)</span>`,
  type: 'Typ',
  valueTypes: { text: 'Text', number: 'Zahl', boolean: 'Wahr oder falsch', json: 'JSON' },
  asNumber: (label) => `${label}, als Zahl`,
  asBoolean: (label) => `${label}, wahr oder falsch`,
  notSet: 'Nicht gesetzt',
  choose: 'Auswählen …',
  yes: 'Ja',
  no: 'Nein',
  timesInUtc: 'Datum und Uhrzeit in UTC.',
  onePerLine: 'Ein Wert pro Zeile.',
  oneOfPerLine: (choices) => `Ein Wert pro Zeile: ${choices.join(', ')}.`,
  pages: 'Seiten',
  previous: 'Zurück',
  next: 'Weiter',
  readNumber,
  numberText,
  readDate,
  pageNumber: (page) => number(page),
  pageOf: (page, pages) => `Seite ${number(page)} von ${number(pages)}`,
  deletion: 'Löschen …',
}

const time: Messages['time'] = {
  justNow: 'gerade eben',
  relative: (value, unit) => relative(value, unit),
  date: (at, timeZone) => date(at, timeZone),
  day: (at, timeZone) => day(at, timeZone),
  exact: (at, timeZone) => exact(at, timeZone),
}

const front = (noun: Declined): Messages['front'] => ({
  signIn: (app) => `Bei ${app} anmelden`,
  create: `${noun.ein('Ihr', 'accusative')} erstellen`,
  continueToPage: 'Melden Sie sich an, um zur geöffneten Seite zu gelangen.',
  withPassphrase: 'Mit Ihrer Passphrase anmelden',
  continueWith: (provider) => `Mit ${provider} fortfahren`,
  continueAsTestUser: 'Als Testperson fortfahren',
  continueAs: (owner) => `Als ${owner} fortfahren`,
  closed: `${noun.many} werden von der Anwendung erstellt.`,
  about: 'Das bekommen Sie',
  aboutText: (app) =>
    `Ihr eigener Bereich in ${app}: Ihre Daten unter Ihrer eigenen Adresse, nur mit den Personen und Apps geteilt, die Sie auswählen.`,
  isPrivate: 'Von Anfang an privat. Sie entscheiden, wer was ansehen oder ändern kann.',
  isConnected: 'Verbinden Sie Personen, Smartphones und KI-Assistenten, alle mit denselben Berechtigungen.',
  isErasable: 'Jederzeit löschbar, mit allem, was darin ist.',
  developers: (href) => html`Für die Entwicklung: <a href="${href}">API-Referenz</a>`,
  email: 'E-Mail-Adresse',
  createButton: `${noun.one} erstellen`,
  enterEmail: 'Geben Sie Ihre E-Mail-Adresse ein.',
  waits: (from) => `Der Umzug von ${from} ist beendet. Übernehmen können Sie ihn mit dem Link, der dort gezeigt wird.`,
  otherOwner: (owner) =>
    `Sie sind als ${owner} angemeldet, aber diese Seite gehört zu ${noun.ein('ein', 'dative', 'ander')}.`,
})

const created = (noun: Declined): Messages['created'] => ({
  title: `${noun.ein('Ihr', 'nominative')} ist bereit`,
  keep: `Speichern Sie diese Angaben jetzt. Wir können die Passphrase nicht noch einmal anzeigen. Wer sie hat, hat vollen Zugriff auf ${noun.ein('Ihr', 'accusative')}.`,
  address: `${noun.one}-URL`,
  owner: 'Inhaber',
  passphrase: 'Passphrase',
  tryIt: 'API ausprobieren',
  tryText: `Alles in ${noun.ein('Ihr', 'dative')} auflisten:`,
})

const home = (noun: Declined): Messages['home'] => ({
  connect: 'Mit jemandem verbinden',
  newProperty: 'Neue Eigenschaft',
  newDevice: (device, began) =>
    html`Neue Anmeldung: <strong>${device}</strong>, ${began}. Wenn Sie das nicht waren, melden Sie dieses Gerät ab.`,
  newDeviceLink: 'Ihre Geräte ansehen',
  requestsTitle: 'Anfragen',
  waiting: (open) => `${number(open)} offen`,
  nothingWaits: 'Nichts wartet auf Sie.',
  requestsLink: 'Alle Anfragen anzeigen',
  wantsToConnect: (name, host) =>
    `${host === '' || name === host ? name : `${name} auf ${host}`} möchte sich verbinden`,
  asksToRun: (name, title) => `${name} bittet um Ihre Genehmigung: ${title}`,
  programCreated: `Ein Programm hat ${noun.ein('ein', 'accusative')} unter Ihrem Namen erstellt`,
  lists: (lists) => count(lists, 'Liste', 'Listen'),
  noRequests: 'Keine offenen Anfragen',
  requests: (pending) => `${number(pending)} offen`,
  appLastUsed: (at) => html`Zuletzt benutzt ${at}`,
  noApps: 'Keine verbunden',
  thisDevice: (device) => `Dieses: ${device}`,
  byPassphrase: 'Mit der Passphrase geöffnet',
  delivery: 'Zustellung',
  failing: (subscriptions) => `${number(subscriptions)} gestört`,
  undelivered: (peer, about, state) => `${peer} · ${about}: ${state}`,
  allDelivered: (subscribers) =>
    `${count(subscribers, 'Abonnement erhält', 'Abonnements erhalten')} Ihre Aktualisierungen.`,
  noSubscribers: 'Niemand abonniert Ihre Aktualisierungen.',
  deliveryLink: 'Abonnements anzeigen',
  activity: 'Aktivität, 14 Tage',
  deniedCount: (denied) => `${number(denied)} abgelehnt`,
  requestCount: (requests) => (requests === 0 ? 'Keine Zugriffe.' : `${count(requests, 'Zugriff', 'Zugriffe')}.`),
  activityLink: 'Aktivität anzeigen',
  chart: 'Zugriffe pro Tag',
  requested: 'Zugriffe',
  denied: 'Abgelehnt',
  address: 'Ihre Adresse',
  addressText: 'Geben Sie sie weiter, damit andere sich mit Ihnen verbinden können.',
  mcpUrl: 'MCP-Server, für KI-Clients',
  accountUrl: `${noun.one}-URL`,
  apiReference: 'API-Referenz',
  publicProfile: 'Öffentliches Profil',
  getStarted: 'Erste Schritte',
})

const settings = (noun: Declined): Messages['settings'] => ({
  profile: 'Profil',
  name: 'Anzeigename',
  nameHint: 'Personen, mit denen Sie sich verbinden, sehen ihn, wenn ihre Zugriffsstufe Ihr Profil zeigt.',
  saveName: 'Namen speichern',
  nameElsewhere: 'Bearbeiten Sie Ihre Eigenschaften, um zu ändern, was andere von Ihnen sehen.',
  appearance: 'Darstellung',
  appearanceText: 'Diese Auswahl gilt für diesen Browser.',
  language: 'Sprache',
  browserLanguage: 'Sprache des Browsers',
  theme: 'Farben',
  browserTheme: 'Wie im Browser',
  light: 'Hell',
  dark: 'Dunkel',
  timeZone: 'Zeitzone',
  saveAppearance: 'Darstellung speichern',
  signIn: 'Anmeldung',
  byProvider: (provider) => html`Sie melden sich mit <strong>${provider}</strong> an.`,
  byPassphrase: `Nur die Passphrase öffnet ${noun.ein('Ihr', 'accusative')}.`,
  verifiedEmail: (email) => html`Ihre E-Mail-Adresse ist <strong>${email}</strong>, und sie ist bestätigt.`,
  unverifiedEmail: (email) => html`Ihre E-Mail-Adresse ist <strong>${email}</strong>, und sie ist nicht bestätigt.`,
  passkeysLink: 'Passkeys und Wiederherstellungscodes',
  devicesLink: 'Anzeigen, wo Sie angemeldet sind',
  operatorLink: 'Seiten für den Betrieb öffnen',
  export: 'Ihre Daten exportieren',
  exportText:
    'Eine Datei mit Ihren Eigenschaften, Listen, Dateien, Verbindungen, Abonnements, verbundenen Apps und Aktivitäten und mit den Änderungen, die sich rückgängig machen lassen. Passwörter, Schlüssel und andere Geheimnisse sind nicht darin.',
  exportButton: 'Alles herunterladen',
  import: 'Archiv importieren',
  importText: 'Übernehmen Sie die Eigenschaften, Listen und Dateien aus einer solchen Datei.',
  importLink: 'Archiv auswählen',
  move: 'Umziehen',
  moveText: 'Nehmen Sie alles zu einem anderen Dienst mit, auch Ihre Verbindungen.',
  moveLink: 'Umziehen',
  deletion: `${noun.one} löschen`,
  deletionFold: `${noun.one} löschen …`,
  deletionText:
    'Alle Eigenschaften, Dateien, Verbindungen, Sitzungen und verbundenen Apps werden endgültig gelöscht. Ihre Verbindungen werden benachrichtigt. Das kann nicht rückgängig gemacht werden.',
  confirm: (owner) => html`Geben Sie zur Bestätigung <strong>${owner}</strong> ein`,
  deleteButton: `${noun.one} endgültig löschen`,
  wrongConfirmation: (owner) =>
    `Die Eingabe stimmt nicht überein. Geben Sie genau ${owner} ein, um ${noun.ein('Ihr', 'accusative')} zu löschen.`,
})

const device: Messages['device'] = {
  title: 'Gerät verbinden',
  text: 'Geben Sie den Code ein, den Ihr Fernseher, Ihre Kommandozeile oder ein anderes Gerät anzeigt.',
  code: 'Code auf dem Gerät',
  continue: 'Weiter',
  wrong: 'Dieser Code ist falsch oder abgelaufen. Prüfen Sie ihn auf dem Gerät oder beginnen Sie dort erneut.',
  warning:
    'Geben Sie einen Code nur ein, wenn Sie ihn gerade auf Ihrem eigenen Gerät sehen. Geben Sie nie einen ein, den Ihnen jemand geschickt hat.',
  compare: 'Fahren Sie nur fort, wenn Ihr eigenes Gerät gerade diesen Code anzeigt.',
  outcomes: { approved: 'Gerät verbunden', denied: 'Zugriff abgelehnt', expired: 'Der Code ist abgelaufen' },
  outcomeTexts: {
    approved: 'Gehen Sie zurück zu Ihrem Gerät. Es fährt in wenigen Sekunden fort.',
    denied: 'Das Gerät erhält keinen Zugriff.',
    expired: 'Beginnen Sie auf dem Gerät erneut.',
  },
}

const emailLink: Messages['emailLink'] = {
  email: 'E-Mail-Adresse',
  send: 'Code anfordern',
  text: 'Wir senden Ihnen einen Link und einen Code per E-Mail. Sie brauchen kein Passwort.',
  sent: 'Sehen Sie in Ihrem Postfach nach',
  sentText: (address) =>
    html`Wenn <strong>${address}</strong> E-Mails empfangen kann, kommen in wenigen Minuten ein Link und ein Code an. Öffnen Sie den Link in diesem Browser oder geben Sie hier den Code ein. Beide gelten zehn Minuten.`,
  code: 'Code',
  enter: 'Anmelden',
  again: 'Neuen Code anfordern',
  confirm: 'Anmeldung abschließen',
  confirmText: 'Drücken Sie den Knopf, um sich hier anzumelden.',
  notSent: 'Die E-Mail konnte nicht gesendet werden. Versuchen Sie es später erneut.',
}

const mail: Messages['mail'] = {
  signInLink: ({ service, code }) => ({
    subject: `Anmelden bei ${service}`,
    lines: [
      `Öffnen Sie den Link in dem Browser, in dem Sie die Anmeldung begonnen haben, oder geben Sie dort den Code ${code} ein. Beide gelten zehn Minuten.`,
      'Wenn Sie das nicht angefordert haben, ignorieren Sie diese Nachricht. Geben Sie den Code niemandem.',
    ],
    action: 'Anmelden',
  }),
  verification: ({ service }) => ({
    subject: `Bestätigen Sie Ihre E-Mail-Adresse für ${service}`,
    lines: [
      'Öffnen Sie den Link, um zu bestätigen, dass diese Adresse Ihnen gehört. Er gilt einen Tag.',
      'Wenn Sie diese Adresse nicht eingegeben haben, ignorieren Sie diese Nachricht.',
    ],
    action: 'Adresse bestätigen',
  }),
  approval: ({ service, caller, operation }) => ({
    subject: `${service}: Ein Aufruf wartet auf Ihre Genehmigung`,
    lines: [
      `${caller} möchte „${operation}“ ausführen und braucht Ihre Genehmigung. Der Aufruf wartet 15 Minuten.`,
      'Die Seite zeigt, was geschehen würde. Wenn Sie diesen Aufruf nicht erwarten, lehnen Sie ihn ab.',
    ],
    action: 'Aufruf prüfen',
  }),
  invitation: ({ service, peer }) => ({
    subject: `${service}: Ihre Einladung wurde angenommen`,
    lines: [
      `${peer} hat Ihre Einladung angenommen und ist jetzt verbunden.`,
      'Wenn Sie den Link jemand anderem gegeben haben, öffnen Sie die Verbindung und beenden Sie sie.',
    ],
    action: 'Verbindung ansehen',
  }),
  newDevice: ({ service, device }) => ({
    subject: `Neue Anmeldung bei ${service}`,
    lines: [
      `Jemand hat sich auf einem Gerät angemeldet, das bisher nicht benutzt wurde: ${device}.`,
      'Wenn Sie das waren, ignorieren Sie diese Nachricht. Sonst melden Sie das Gerät ab und prüfen Sie, wie Sie sich anmelden.',
    ],
    action: 'Ihre Geräte ansehen',
  }),
  operatorLink: ({ service }) => ({
    subject: `Ein Link zur Anmeldung bei ${service}`,
    lines: [
      'Eine Person, die den Dienst betreibt, hat einen Link erstellt. Er meldet innerhalb einer Stunde einmal bei Ihrem Konto an.',
      'Wenn Sie nicht darum gebeten haben, öffnen Sie die Aktivität und fragen Sie, wer ihn erstellt hat.',
    ],
    action: 'Aktivität ansehen',
  }),
  failing: ({ service, peer }) => ({
    subject: `${service}: Eine Verbindung erhält Ihre Änderungen nicht`,
    lines: [
      `Die Übertragung an ${peer} schlägt seit einem Tag fehl. Der Dienst versucht es weiter.`,
      'Wenn Sie die Verbindung nicht mehr brauchen, beenden Sie sie.',
    ],
    action: 'Verbindung ansehen',
  }),
  moveStarted: ({ service, to }) => ({
    subject: `Ihr Umzug von ${service} hat begonnen`,
    lines: [
      `Alles zieht zu ${to} um. Bis der Umzug endet, lässt sich hier nichts ändern.`,
      'Wenn Sie den Umzug nicht begonnen haben, öffnen Sie die Seite und brechen Sie ihn ab.',
    ],
    action: 'Umzug ansehen',
  }),
  moveFinished: ({ service, to }) => ({
    subject: `Ihr Umzug von ${service} ist abgeschlossen`,
    lines: [
      `Alles ist jetzt bei ${to}. Die Seite hier hat den Link, mit dem Sie es dort übernehmen.`,
      'Melden Sie sich dazu hier an wie bisher.',
    ],
    action: 'Umzug ansehen',
  }),
  exported: ({ service }) => ({
    subject: `${service}: Der Export Ihrer Daten ist fertig`,
    lines: [
      'Ein Archiv mit allem, was für Sie gespeichert ist, wurde zum Herunterladen erstellt.',
      'Wenn Sie das nicht waren, melden Sie Ihre anderen Geräte ab.',
    ],
    action: 'Aktivitäten ansehen',
  }),
  quota: ({ service, uses }) => ({
    subject: `${service}: Ihr Speicherplatz ist fast voll`,
    lines: [
      'Sie haben mindestens 90 % von dem benutzt, was gespeichert werden kann.',
      ...uses,
      'Wenn die Grenze erreicht ist, wird nichts mehr gespeichert. Löschen schafft Platz.',
    ],
    action: 'Speicherplatz ansehen',
  }),
  footer: (service) => `${service} hat diese Nachricht automatisch gesendet.`,
  unsubscribe: 'Diese Nachrichten abbestellen',
  choices: 'Nachrichten per E-Mail',
  choicesText: 'Wählen Sie, welche Nachrichten Sie an Ihrer bestätigten Adresse erhalten.',
  kinds: {
    application: 'Nachrichten dieser Anwendung',
    approval: 'Aufrufe, die auf Ihre Genehmigung warten',
    invitation: 'Angenommene Einladungen',
    failing: 'Verbindungen, die Ihre Änderungen nicht erhalten',
    export: 'Exporte Ihrer Daten',
    quota: 'Fast voller Speicherplatz',
  },
  always:
    'Nachrichten zu Anmeldungen und zur Sicherheit Ihres Kontos werden immer gesendet. Sie lassen sich nicht abbestellen.',
  save: 'Auswahl speichern',
  unsubscribeText: (kind) => html`Möchten Sie dies nicht mehr erhalten: <strong>${kind}</strong>?`,
  unsubscribed: 'Sie erhalten diese Nachrichten nicht mehr.',
  unsubscribedText: 'In den Einstellungen Ihres Kontos können Sie sie wieder einschalten.',
}

const freshSignIn = (noun: Declined): Messages['freshSignIn'] => ({
  needed: `Melden Sie sich zuerst erneut an. Das schützt ${noun.ein('Ihr', 'accusative')} auf Geräten, an denen Sie angemeldet bleiben.`,
  link: 'Erneut anmelden',
})

const passkeys = (noun: Declined): Messages['passkeys'] => ({
  title: 'Passkeys',
  signIn: 'Mit einem Passkey anmelden',
  create: `Neu hier? ${noun.ein('Ein', 'accusative')} erstellen`,
  createText:
    'Sie brauchen kein Passwort und keine E-Mail-Adresse. Ihr Gerät fragt nach Ihrem Fingerabdruck, Ihrem Gesicht oder Ihrer PIN.',
  owner: 'Ihr Name',
  ownerHint: `Er benennt ${noun.ein('Ihr', 'accusative')}. Verwenden Sie keine E-Mail-Adresse.`,
  ownerInvalid: (longest) => `Geben Sie einen Namen mit 1 bis ${number(longest)} Zeichen ein, ohne @ und Doppelpunkt.`,
  createButton: `${noun.one} mit einem Passkey erstellen`,
  lost: 'Mit einem Wiederherstellungscode anmelden',
  lostText: `Verwenden Sie einen der Codes, die Sie gespeichert haben, als Sie ${noun.ein('Ihr', 'accusative')} erstellt haben. Jeder Code gilt einmal.`,
  code: 'Wiederherstellungscode',
  useCode: 'Anmelden',
  about: 'Was ist ein Passkey?',
  aboutText:
    'Ein Passkey ersetzt Ihr Passwort. Er bleibt auf Ihrem Gerät oder in Ihrem Passwortmanager, der ihn mit Fingerabdruck, Gesicht oder PIN freigibt. Er gilt nur für diesen Dienst, daher kann keine andere Website nach ihm fragen.',
  needsScript: 'Passkeys brauchen JavaScript. Schalten Sie es ein und laden Sie die Seite neu.',
  cancelled:
    'Nichts ist passiert: Sie haben abgebrochen, es dauerte zu lange, oder dieses Gerät hat keinen Passkey für diesen Dienst.',
  known: 'Dieses Gerät hat bereits einen Passkey für diesen Dienst.',
  unsupported: 'Dieser Browser kann keine Passkeys verwenden. Aktualisieren Sie ihn oder verwenden Sie einen anderen.',
  failed: 'Der Passkey hat nicht funktioniert. Laden Sie die Seite neu und versuchen Sie es erneut.',
  codes: 'Wiederherstellungscodes',
  codesText: `Speichern Sie diese Codes jetzt, in einem Passwortmanager oder auf Papier. Sie werden nur einmal angezeigt. Jeder Code öffnet ${noun.ein('Ihr', 'accusative')} einmal, falls Sie Ihre Passkeys verlieren.`,
  codesSaved: 'Gespeichert. Weiter',
  codesLeft: (left) =>
    left === 0
      ? 'Sie haben keine Wiederherstellungscodes. Erstellen Sie welche, damit Sie sich anmelden können, falls Sie Ihre Passkeys verlieren.'
      : `Sie haben ${count(left, 'unbenutzten Wiederherstellungscode', 'unbenutzte Wiederherstellungscodes')}, falls Sie Ihre Passkeys verlieren.`,
  newCodes: 'Neue Codes erstellen',
  newCodesText: 'Zehn neue Codes werden angezeigt. Früher gespeicherte Codes gelten nicht mehr.',
  newCodesButton: 'Codes erstellen und anzeigen',
  none: 'Noch keine Passkeys.',
  fingerprint: 'Fingerabdruck, für den Betreiber dieses Dienstes:',
  off: 'Dieser Dienst bietet keine Anmeldung mit Passkeys an.',
  facts: (created, used, synced) =>
    html`Hinzugefügt ${created} · ${used === null ? 'nie benutzt' : html`zuletzt benutzt ${used}`}${synced ? ' · auf mehreren Ihrer Geräte' : ''}`,
  name: 'Name',
  nameHint: 'Damit Sie ihn später wiedererkennen, zum Beispiel am Gerät.',
  nameInvalid: (longest) => `Geben Sie einen Namen mit 1 bis ${number(longest)} Zeichen ein.`,
  rename: (name) => html`Umbenennen<span class="unseen"> ${name}</span>`,
  saveName: 'Namen speichern',
  remove: (name) => html`Entfernen<span class="unseen"> ${name}</span>`,
  removeText:
    'Sie können sich nicht mehr mit ihm anmelden. Löschen Sie ihn auch auf Ihrem Gerät oder in Ihrem Passwortmanager.',
  removeButton: 'Passkey entfernen',
  isLast: `Sie können Ihren einzigen Passkey nicht entfernen: Nichts anderes öffnet ${noun.ein('Ihr', 'accusative')}. Fügen Sie zuerst einen weiteren hinzu.`,
  add: 'Passkey hinzufügen',
  addText: 'Fügen Sie für jedes Ihrer Geräte einen hinzu, außer wenn Ihr Passwortmanager sie teilt.',
  addButton: 'Passkey hinzufügen',
  notAdded: 'Sie haben diesen Passkey bereits oder zu viele.',
})

const accessMap: Messages['accessMap'] = {
  title: 'Wer worauf zugreifen kann',
  legend: 'Dünn: ansehen. Dick: bearbeiten oder ausführen. Gestrichelt: fragt Sie zuerst. Gepunktet: zum Teil.',
  text: 'Das erlauben die Zugriffsstufen und Ihre Änderungen jetzt. Die Anwendung kann mehr verbergen. „Alles andere“ zeigt den weitesten Zugriff auf eine dieser Eigenschaften.',
  people: 'Personen und Apps',
  data: 'Ihre Daten',
  rest: 'Alles andere',
  restDetail: (properties) => count(properties, 'Eigenschaft', 'Eigenschaften'),
  calls: 'Aktionen und Werkzeuge',
  more: (others) => `${count(others, 'weitere Person oder App', 'weitere Personen und Apps')} mit Zugriff`,
  table: 'Als Tabelle anzeigen',
  none: 'Kein Zugriff',
  part: 'Zum Teil',
  view: 'Ansehen',
  edit: 'Bearbeiten',
  run: 'Ausführen',
  ask: 'Fragt zuerst',
  both: 'Ausführen, teils nach Rückfrage',
}

const firstSteps = (noun: Declined): Messages['firstSteps'] => ({
  title: 'Erste Schritte',
  done: 'Erledigt',
  data: 'Erste Daten hinzufügen',
  dataText: 'Speichern Sie Texte, Zahlen, Listen oder JSON.',
  dataButton: 'Eigenschaft hinzufügen',
  connection: 'Mit jemandem verbinden',
  connectionText: `Teilen Sie Daten mit ${noun.ein('ein', 'dative', 'ander')}. Sie wählen aus, was sichtbar ist, und können es jederzeit beenden.`,
  connectionButton: 'Jemanden einladen',
  app: 'App verbinden',
  appText:
    'Geben Sie einem KI-Assistenten, einem Smartphone oder einem Skript begrenzten Zugriff. Sie können ihn jederzeit beenden.',
  appButton: 'App verbinden',
})

const signIn = (noun: Declined): Messages['signIn'] => ({
  signOut: (app) => `Von ${app} abmelden?`,
  signOutText: 'Eine andere Website hat Sie auf diese Seite geleitet.',
  signOutButton: 'Abmelden',
  email: 'E-Mail-Adresse bestätigen',
  emailText: (provider) =>
    `${provider} teilt nicht mit, welche E-Mail-Adresse Ihnen gehört. Geben Sie die Adresse ein, die hier gelten soll.`,
  emailLabel: 'E-Mail-Adresse',
  continue: 'Weiter',
  verify: 'E-Mail-Adresse bestätigen',
  verifyText: `Diese E-Mail-Adresse wurde hier für ${noun.ein('ein', 'accusative')} eingegeben. Bestätigen Sie sie, wenn Sie das waren.`,
  verifyButton: (address) => `${address} bestätigen`,
  verifyIgnore: 'Das waren nicht Sie? Schließen Sie diese Seite; es ändert sich nichts.',
  verified: 'E-Mail-Adresse bestätigt',
  verifiedText: 'Vielen Dank. Ihre E-Mail-Adresse ist bestätigt.',
  claim: `Es gibt bereits ${noun.ein('ein', 'accusative')} mit dieser E-Mail-Adresse`,
  claimText: (email) =>
    html`Sie haben nachgewiesen, dass <strong>${email}</strong> Ihnen gehört. Jemand hat damit früher ${noun.ein('ein', 'accusative')} ohne Nachweis erstellt.`,
  claimPassphrase: 'Das war ich. Passphrase',
  claimOpen: `${capital(noun.dies('dies', 'accusative'))} öffnen`,
  claimNew: `${capital(noun.ein('ein', 'accusative', 'neu'))} beginnen`,
  claimAbout: `Was geschieht mit ${noun.the('dative')} von früher?`,
  claimJoin: 'Wenn Sie es waren, öffnet die Passphrase hier alles, was darin ist.',
  claimLink:
    'Wenn Sie es mit dieser E-Mail-Adresse waren, öffnen Sie den Link, der Ihnen gesendet wurde, in dem Browser, in dem Sie die Adresse eingegeben haben. Melden Sie sich danach hier erneut an.',
  claimOther: `Wenn Sie neu beginnen, bleibt ${noun.the('nominative')} von früher bei der Person, die ${noun.pronoun('accusative')} erstellt hat, ohne Zugriff auf Ihre Daten.`,
  claimDecide: 'Auf der Seite „Programme mit Passwort“ entscheiden Sie dann, ob die Passphrase weiterhin gilt.',
})

const signInErrors: Messages['signInErrors'] = {
  wrongPassphrase: 'Diese Passphrase ist falsch.',
  invalidEmail: 'Geben Sie eine gültige E-Mail-Adresse ein, zum Beispiel name@example.com.',
  emailTaken: 'Diese E-Mail-Adresse wird bereits verwendet.',
  noCookie:
    'Ihr Browser hat kein Cookie dieses Dienstes gesendet. Vielleicht blockiert er Cookies, oder Sie haben in einem anderen Browser, einer App oder einem privaten Fenster begonnen. Erlauben Sie Cookies für diese Website, beginnen Sie erneut, und bleiben Sie in einem Browser.',
  cookieNeedsHttps:
    'Ihr Browser hat kein Cookie dieses Dienstes gesendet. Der Dienst ist über http erreichbar, und seine Cookies benötigen https, daher speichern die meisten Browser sie nicht. Bitten Sie den Betreiber, den Dienst über https bereitzustellen.',
}

const signInRefusals: Messages['signInRefusals'] = {
  exchange_failed: 'Der Anmeldedienst hat die Anmeldung nicht bestätigt. Versuchen Sie es erneut.',
  identity_failed: 'Der Anmeldedienst hat nicht mitgeteilt, wer Sie sind. Versuchen Sie es erneut.',
  lookup_failed: 'Der Anmeldedienst hat Ihre E-Mail-Adresse nicht mitgeteilt. Versuchen Sie es erneut.',
  no_address: 'Der Anmeldedienst hat keine E-Mail-Adresse für Sie bestätigt.',
  assertion_invalid: 'Diese Anmeldung ist hier nicht gültig. Versuchen Sie es erneut.',
  address_unverified:
    'Ihre E-Mail-Adresse ist nicht bestätigt. Bestätigen Sie sie in der Anwendung und melden Sie sich dann erneut an.',
  address_invalid: 'Die Anwendung hat keine gültige E-Mail-Adresse von Ihnen.',
  other_identity:
    'Sie haben sich mit einem anderen Konto angemeldet als erwartet. Melden Sie sich mit dem richtigen an.',
  rejected: 'Die Anwendung hat diese Anmeldung nicht angenommen.',
  unknown_passkey: 'Dieser Passkey öffnet hier nichts. Wählen Sie einen anderen oder registrieren Sie sich.',
  unknown_code: 'Das ist kein unbenutzter Wiederherstellungscode.',
  unknown_email_code: 'Dieser Code gilt nicht für diese Anmeldung, ist abgelaufen oder wurde schon benutzt.',
  has_account: 'Sie haben hier schon ein anderes Konto. Löschen Sie es zuerst, oder wählen Sie eine andere Anmeldung.',
  already_taken: 'Mit diesem Link wurde das Konto schon übernommen.',
  name_taken: 'Dieser Name wird bereits verwendet. Beginnen Sie erneut mit einem anderen Namen.',
}

const testUsers: Messages['testUsers'] = {
  title: 'Testperson auswählen',
  text: html`<strong>Nur für die Entwicklung</strong>, kein Passwort nötig. Im Betrieb erscheinen hier Ihre eingerichteten Anmeldedienste.`,
  signInAs: (name) => `Als ${name} anmelden`,
  other: 'Oder eine andere E-Mail-Adresse verwenden',
  email: 'E-Mail-Adresse',
  signIn: 'Anmelden',
  cancel: 'Abbrechen',
  over: 'Diese Anmeldung ist abgelaufen',
  overText:
    'Sie hat zu lange gedauert oder der Server wurde neu gestartet. Gehen Sie zurück und melden Sie sich erneut an.',
}

const consent = (noun: Declined): Messages['consent'] => ({
  title: (client, app) => `${client} möchte sich mit ${noun.ein('Ihr', 'dative')} bei ${app} verbinden`,
  signedInAs: (owner) => html`Angemeldet als <strong>${owner}</strong>`,
  publisher: 'Verifizierter Herausgeber',
  returnsTo: 'Führt zurück zu',
  isLocal: 'Diese App läuft auf Ihrem Computer. Fahren Sie nur fort, wenn Sie sie gerade selbst gestartet haben.',
  access: (client) => `${client} erhält diesen Zugriff`,
  accessOf: (level) => html`Zugriff im Einzelnen<span class="unseen">: ${level}</span>`,
  allow: 'Erlauben',
  allowWith: (provider) => `Mit ${provider} anmelden und erlauben`,
  useOther: (provider) => `Anderes Konto von ${provider} verwenden`,
  deny: 'Ablehnen',
  about: 'Zu dieser Anfrage',
  unverified: 'Die Namen von Apps sind nicht geprüft. Achten Sie auf die Adresse oben.',
  noPassword: 'Die App sieht Ihr Passwort nie.',
  canEnd: 'Unter „Aktivität“ sehen Sie, was die App tut, und unter „Verbundene Apps“ können Sie sie jederzeit trennen.',
  noProvider: 'Eine Anmeldung ist hier nicht möglich: Es ist kein Anmeldedienst eingerichtet.',
  foreign: 'Eine andere Website hat diese Entscheidung gesendet. Nichts wurde erlaubt.',
  expired: 'Diese Seite ist abgelaufen oder wurde bereits verwendet. Beginnen Sie erneut in der App.',
  leaving: 'Zurück zur App',
  leavingText: 'Ihre Antwort ist auf dem Weg zur App. Falls sich die App nicht öffnet, geht es hier weiter:',
  decided: 'Sie haben bereits geantwortet',
  decidedText: 'Ihre erste Antwort gilt. Falls die App noch wartet, beginnen Sie dort erneut.',
  continueTo: (target: string) => `Weiter zu ${target}`,
  signedOut: `Sie sind nicht mehr bei ${noun.dies('dies', 'dative')} angemeldet. Beginnen Sie erneut in der App.`,
})

const passwordAccess = (noun: Declined): Messages['passwordAccess'] => ({
  title: 'Programme mit Passwort',
  text: `Programme können ${noun.many} unter jedem Namen mit einem Passwort erstellen. Sie haben nachgewiesen, dass der Name Ihnen gehört, also entscheiden Sie.`,
  empty: `Kein Programm hat ${noun.ein('ein', 'accusative')} unter Ihrem Namen erstellt.`,
  firstShown: (shown) =>
    `Angezeigt werden die ersten ${number(shown)}. Die übrigen erscheinen, wenn Sie entschieden haben.`,
  own: capital(noun.dies('dies', 'nominative')),
  other: `${capital(noun.ein('ein', 'nominative', 'ander'))} unter Ihrem Namen`,
  ownPending: `Ein Programm mit Passwort hat ${noun.dies('dies', 'accusative')} erstellt. Behalten oder widerrufen Sie den Zugriff.`,
  ownKept: `Ein Programm mit Passwort hat ${noun.dies('dies', 'accusative')} erstellt. Sie behalten den Zugriff bei.`,
  ownRevoked: `Ein Programm mit Passwort hat ${noun.dies('dies', 'accusative')} erstellt. Sie haben den Zugriff widerrufen.`,
  otherPending: `Ein Programm mit Passwort hat ${noun.pronoun('accusative')} erstellt. Behalten oder widerrufen Sie den Zugriff.`,
  otherKept: `Ein Programm mit Passwort hat ${noun.pronoun('accusative')} erstellt. Sie behalten den Zugriff bei.`,
  otherRevoked: `Ein Programm mit Passwort hat ${noun.pronoun('accusative')} erstellt. Sie haben den Zugriff widerrufen.`,
  address: `${noun.one}-URL`,
  creator: 'Name in den Zugangsdaten des Programms',
  proven: 'Sie haben den Namen nachgewiesen',
  reachRevoked: `Das Passwort gilt nicht mehr. Die Daten sind weiterhin in ${noun.the('dative')}.`,
  reachOwn: `Bis Sie den Zugriff widerrufen, kann jeder mit dem Passwort alles in ${noun.dies('dies', 'dative')} ansehen und ändern, wie Sie selbst.`,
  reachOther: `Jeder mit dem Passwort kann alles in ${noun.the('dative')} ansehen und ändern. Das Passwort gibt keinen Zugriff auf Ihre Daten, und Sie sehen die Daten dort nicht.`,
  keep: (creator, id) => html`Zugriff behalten<span class="unseen">: ${creator}, ${id}</span>`,
  revoking: 'Zugriff widerrufen …',
  revokeText: `Das Passwort gilt sofort und endgültig nicht mehr. Die Daten in ${noun.the('dative')} bleiben, ebenso Verbindungen und Apps, die das Programm hinzugefügt hat.`,
  revoke: 'Zugriff widerrufen',
  gone: `${capital(noun.the('accusative'))} gibt es nicht mehr.`,
})

const requests: Messages['requests'] = {
  calls: 'Aufrufe, die Ihre Genehmigung brauchen',
  connections: 'Verbindungen',
  failures: 'Aktualisierungen, die nicht ankommen',
  review: 'Prüfen',
  destructive: 'Löscht Daten',
  wantsToConnect: (name, level) => `${name} möchte sich als ${level} verbinden`,
  history: 'Verlauf',
  historyOff: 'Die Aktivität ist für diesen Dienst ausgeschaltet, daher werden Entscheidungen nicht aufbewahrt.',
  noHistory: 'Sie haben noch nichts entschieden.',
  decided: (name, what) => html`${name} ${what}`,
  approved: 'Genehmigt',
  denied: 'Abgelehnt',
  newest: 'Neueste',
  older: 'Ältere',
}

const approvals: Messages['approvals'] = {
  empty: 'Alles erledigt.',
  requested: (asked, expires) => html`Angefragt ${asked} · läuft ab ${expires}`,
  requestedBy: (name) => `Angefragt von ${name}`,
  unverifiedApp: 'Eine App. Ihr Name ist nicht geprüft.',
  fromHost: (host) => html`Von <strong>${host}</strong>. Der Name ist nicht geprüft.`,
  wants: (name, title) => `${name} möchte: ${title}`,
  details: 'Einzelheiten',
  noInput: 'Keine Eingabe',
  otherInput: 'Weitere Werte',
  namedByCaller: (name) => `${name} hat diese Namen gewählt. Die Anwendung beschreibt sie nicht.`,
  noPreview: 'Was dieser Aufruf bewirkt, kann gerade nicht angezeigt werden.',
  once: (expires) => html`Das genehmigt nur einen Aufruf. Läuft ab ${expires}.`,
  allow: 'Einmal erlauben',
  deny: 'Ablehnen',
  withdraw: 'Genehmigung zurückziehen',
  approved: (name) => `Genehmigt. ${name} kann jetzt fortfahren.`,
  denied: 'Abgelehnt.',
  used: 'Genehmigt und ausgeführt.',
  expired: 'Diese Anfrage ist abgelaufen, oder die App wurde getrennt.',
  decided: 'Diese Anfrage ist bereits beantwortet oder abgelaufen.',
}

const calls: Messages['calls'] = {
  methods: (name, asked, by) => html`Methode <code>${name}</code>, angefragt ${asked} von ${by}`,
  actions: (name, asked, by) => html`Aktion <code>${name}</code>, angefragt ${asked} von ${by}`,
  tools: (name, asked, by) => html`Tool <code>${name}</code>, angefragt ${asked} von ${by}`,
  prompts: (name, asked, by) => html`Prompt <code>${name}</code>, angefragt ${asked} von ${by}`,
  resources: (name, asked, by) => html`Ressource <code>${name}</code>, angefragt ${asked} von ${by}`,
}

const values: Messages['values'] = {
  object: (fields) => `Objekt · ${count(fields, 'Feld', 'Felder')}`,
  array: (items) => `Array · ${count(items, 'Element', 'Elemente')}`,
  list: (items) => `Liste · ${count(items, 'Element', 'Elemente')}`,
  anyList: 'Liste',
  damagedList: 'Liste, beschädigt',
  text: 'Text',
  number: 'Zahl',
  boolean: 'Wahrheitswert',
  null: 'Null',
  emptyText: 'Leerer Text',
  emptyObject: 'Leeres Objekt',
  emptyArray: 'Leeres Array',
  more: (parts) =>
    plural(parts, { one: 'Ein weiterer Teil nicht angezeigt.', other: `${number(parts)} weitere nicht angezeigt.` }),
  moreItems: (items) => `und ${count(items, 'weiteres Element', 'weitere Elemente')}`,
  deleted: 'Gelöscht',
  notSet: 'Noch nicht gesetzt',
}

function viewers(people: number, apps: number): string {
  const said = count(people, 'Person', 'Personen')
  if (apps === 0) return said
  return people === 0 ? count(apps, 'App', 'Apps') : `${said}, ${count(apps, 'App', 'Apps')}`
}

const types: Messages['types'] = {
  text: 'Text',
  number: 'Zahl',
  boolean: 'Wahrheitswert',
  object: 'Objekt',
  array: 'Array',
  list: 'Liste',
}

const properties: Messages['properties'] = {
  title: 'Eigenschaften',
  empty: 'Noch keine Eigenschaften. Speichern Sie oben den ersten Wert oder die erste Liste.',
  noMatch: 'Keine Eigenschaft passt.',
  showAll: 'Alle Eigenschaften anzeigen',
  searchLabel: 'Name oder Anfang eines Werts',
  types: 'Typen',
  allTypes: 'Alle',
  columns: { name: 'Name', type: 'Typ' },
  visibleColumn: 'Sichtbar für',
  onlyYou: 'Nur Sie',
  visibleTo: (people, apps) => viewers(people, apps),
  atLeast: (people, apps) => `Mindestens ${viewers(people, apps)}`,
  showViewers: 'Wer kann das sehen?',
  viewers: 'Wer das sehen kann',
  canView: 'Ansehen',
  canEdit: 'Ansehen und bearbeiten',
  otherViewers: (others) => `${number(others)} weitere hier nicht aufgeführt.`,
  selection: 'Auswahl',
  select: (name) => `${quote(name)} auswählen`,
  noneSelected: 'Wählen Sie mindestens eine Eigenschaft aus.',
  exportAll: 'JSON exportieren',
  exportSelected: 'Auswahl exportieren',
  deleteSelected: 'Auswahl löschen …',
  deleteCount: (total) => `${count(total, 'Eigenschaft', 'Eigenschaften')} löschen`,
  deleteManyText: (total) =>
    plural(total, {
      one: 'Die Eigenschaft kann nicht wiederhergestellt werden. Abonnenten werden benachrichtigt.',
      other: 'Die Eigenschaften können nicht wiederhergestellt werden. Abonnenten werden benachrichtigt.',
    }),
  deleteKeptText: (days) =>
    `Sie können das ${inDays(days)} rückgängig machen, außer was zum Aufbewahren zu lang ist. Abonnenten werden benachrichtigt.`,
  keep: 'Behalten',
  readOnly: (kind) => `${kind} · Schreibgeschützt`,
  notSet: 'Noch nicht gesetzt',
  exists: (name) => `${quote(name)} gibt es schon`,
  stored: 'Jetzt gespeichert',
  yours: 'Ihre Eingabe',
  saveMine: 'Meine Eingabe speichern',
  open: (name) => `${quote(name)} öffnen`,
  newTitle: 'Neue Eigenschaft',
  value: 'Wert',
  list: 'Liste',
  name: 'Name',
  description: 'Beschreibung',
  explanation: 'Format der Elemente (KI-Apps sehen das)',
  createValue: 'Eigenschaft erstellen',
  createList: 'Liste erstellen',
  viewJson: 'JSON ansehen',
  developers: 'Für Entwickler',
  developersText:
    'Diese Programme senden einen API-Schlüssel aus der Umgebungsvariable TROUPE_KEY. Der Schlüssel muss Zugriff auf diese Eigenschaft haben.',
  setIt: 'Wert setzen',
  save: 'Speichern',
  edit: 'Bearbeiten',
  editJson: 'Als JSON bearbeiten',
  managed: (app) => `Wird von ${app} verwaltet; Sie können es nicht bearbeiten.`,
  tooLarge: 'Zu groß zum Bearbeiten auf dieser Seite. Verwenden Sie die API.',
  deleteValue: (name) => `${quote(name)} löschen`,
  deleteValueText: (name) =>
    `${quote(name)} löschen? Das kann nicht rückgängig gemacht werden. Abonnenten werden benachrichtigt.`,
  deleteKeptValueText: (name, days) =>
    `${quote(name)} löschen? Sie können das ${inDays(days)} rückgängig machen. Abonnenten werden benachrichtigt.`,
  nameMissing: 'Geben Sie einen Namen ein.',
  valueMissing: 'Geben Sie einen Wert ein.',
  listExists: (name) => `Die Liste ${quote(name)} gibt es schon. Wählen Sie einen anderen Namen.`,
  nameExists: (name) => `${quote(name)} gibt es schon. Wählen Sie einen anderen Namen.`,
  notFound: (name) => `Es gibt keine Eigenschaft namens ${quote(name)}. Vielleicht wurde sie gelöscht.`,
  rejected: (app, name) => `${app} hat diesen Wert für ${quote(name)} nicht angenommen.`,
  invalidJson: (line, column) => `Ungültiges JSON in Zeile ${number(line)}, Spalte ${number(column)}.`,
  notANumber: (text) => `${quote(text)} ist keine Zahl. Schreiben Sie zum Beispiel 1,5 oder 1.000.`,
  notADate: (text) => `${quote(text)} ist kein Datum. Schreiben Sie zum Beispiel 24.12.2026 oder 2026-12-24.`,
  notATime: (text) => `${quote(text)} ist kein Datum mit Uhrzeit. Schreiben Sie zum Beispiel 24.12.2026, 18:30.`,
  notABoolean: (text) => `${quote(text)} ist weder wahr noch falsch.`,
  notAChoice: (text) => `${quote(text)} steht nicht zur Auswahl.`,
}

const list: Messages['list'] = {
  addSeveral: 'Mehrere Elemente hinzufügen',
  addSeveralButton: 'Alle hinzufügen',
  lines: 'Ein Text in jeder Zeile',
  jsonArray: 'JSON-Array',
  notAnArray: 'Geben Sie ein JSON-Array ein, zum Beispiel ["eins", "zwei"].',
  noItems: 'Geben Sie mindestens ein Element ein.',
  about: 'Über die Liste',
  describe: 'Beschreibung hinzufügen',
  redescribe: 'Beschreibung bearbeiten',
  items: 'Elemente',
  empty: 'Noch keine Elemente.',
  hidden: (app) => `Diese Seite der Liste wird von ${app} ausgeblendet.`,
  item: (position) => `Element ${number(position)}`,
  edit: (position) => html`Bearbeiten<span class="unseen"> (Element ${number(position)})</span>`,
  deleteItem: (position) => `Element ${number(position)} löschen`,
  deleteItemText: (position) => `Element ${number(position)} löschen? Spätere Elemente rücken auf.`,
  deleteList: 'Liste löschen',
  deleteListText: (name, items) =>
    `Die Liste ${quote(name)} mit ${plural(items, { one: `${number(items)} Element`, other: `${number(items)} Elementen` })} löschen? Das kann nicht rückgängig gemacht werden. Abonnenten werden benachrichtigt.`,
  deleteKeptListText: (name, items, days) =>
    `Die Liste ${quote(name)} mit ${plural(items, { one: `${number(items)} Element`, other: `${number(items)} Elementen` })} löschen? Sie können das ${inDays(days)} rückgängig machen. Abonnenten werden benachrichtigt.`,
  add: 'Element hinzufügen',
  newItem: 'Element',
  addButton: 'Element hinzufügen',
  deleted: 'Die Liste wurde während Ihrer Bearbeitung gelöscht. Nichts wurde gespeichert.',
  itemChanged: 'Dieses Element wurde während Ihrer Bearbeitung geändert. Prüfen Sie unten den aktuellen Stand.',
  itemMissing: 'Dieses Element gibt es nicht mehr.',
  notAPosition: 'Geben Sie eine Position in der Liste ein.',
  tools: 'Aktionen',
  remove: (position) => html`Löschen<span class="unseen"> (Element ${number(position)})</span>`,
  position: (total) => `Position, von 1 bis ${number(total)}`,
  move: 'Verschieben',
  moveUp: 'Nach oben',
  moveDown: 'Nach unten',
  itemGone: (position) => `Element ${number(position)} gibt es nicht mehr.`,
}

const history: Messages['history'] = {
  title: 'Verlauf',
  titleOf: (name) => `Verlauf von ${quote(name)}`,
  link: 'Verlauf',
  text: (days) =>
    `Was Ihre Eigenschaften und Listen vor jeder Änderung enthielten. Der Verlauf reicht ${plural(days, { one: 'einen Tag', other: `${number(days)} Tage` })} zurück. Nur Sie können ihn sehen.`,
  off: 'Der Verlauf ist für diesen Dienst ausgeschaltet.',
  empty: 'Noch keine Änderungen.',
  noOlder: 'Keine älteren Änderungen.',
  newest: 'Neueste',
  older: 'Ältere',
  only: (who) => `Nur Änderungen von ${who}.`,
  showAll: 'Alle zeigen',
  you: 'Sie',
  application: 'Die Anwendung',
  other: 'Ein anderer Aufrufer',
  everyone: 'allen',
  did: (who, what) => html`${who}: ${what}`,
  was: (value) => `Vorher: ${value}`,
  nothing: 'nichts',
  tooLong: 'Zu lang zum Aufbewahren, daher nicht rückgängig zu machen',
  undo: 'Rückgängig machen',
  undoAll: 'Alle rückgängig machen …',
  undoSince: (who) => `Alles von ${who} seitdem rückgängig machen …`,
  undoTitle: 'Änderungen rückgängig machen',
  undoText: (who, since) =>
    since === null ? html`Änderungen von ${who}.` : html`Änderungen von ${who} seit ${since}.`,
  nothingToUndo: 'Nichts kann rückgängig gemacht werden.',
  willBeUndone: (properties) =>
    plural(properties, {
      one: '1 Eigenschaft wird wie vorher',
      other: `${number(properties)} Eigenschaften werden wie vorher`,
    }),
  willStay: (properties) =>
    plural(properties, {
      one: '1 Eigenschaft bleibt wie jetzt',
      other: `${number(properties)} Eigenschaften bleiben wie jetzt`,
    }),
  reasons: {
    changed: 'Seitdem wieder geändert',
    too_long: 'Zu lang zum Aufbewahren',
    refused: 'Die Anwendung nimmt den früheren Inhalt nicht an',
  },
  undoButton: (properties) =>
    plural(properties, {
      one: '1 Eigenschaft zurücksetzen',
      other: `${number(properties)} Eigenschaften zurücksetzen`,
    }),
  keep: 'Alles behalten',
  remove: 'Verlauf löschen …',
  removeText:
    'Löscht, was Ihre Eigenschaften vorher enthielten. Diese Änderungen können dann nicht mehr rückgängig gemacht werden.',
  removeOneText: (name) =>
    `Löscht, was ${quote(name)} vorher enthielt. Diese Änderungen können dann nicht mehr rückgängig gemacht werden.`,
  removeButton: 'Verlauf löschen',
  gone: 'Es gibt nichts rückgängig zu machen. Der Verlauf enthält diese Änderung nicht mehr.',
  conflict:
    'Das kann nicht rückgängig gemacht werden: Es hat sich seitdem wieder geändert, oder es war zu lang zum Aufbewahren.',
  acts: {
    createValue: (name) => `${quote(name)} erstellt`,
    setValue: (name) => `${quote(name)} geändert`,
    deleteValue: (name) => `${quote(name)} gelöscht`,
    createList: (name) => `die Liste ${quote(name)} erstellt`,
    deleteList: (name) => `die Liste ${quote(name)} gelöscht`,
    addItems: (name, items) => `${count(items, 'Element', 'Elemente')} zu ${quote(name)} hinzugefügt`,
    removeItems: (name, items) => `${count(items, 'Element', 'Elemente')} aus ${quote(name)} entfernt`,
    updateItems: (name, items) => `${count(items, 'Element', 'Elemente')} von ${quote(name)} geändert`,
    describeList: (name) => `die Beschreibung von ${quote(name)} geändert`,
    changeList: (name) => `die Liste ${quote(name)} geändert`,
  },
}

const conflict: Messages['conflict'] = {
  title: 'Wählen Sie die Fassung, die bleiben soll',
  deletionTitle: 'Vor dem Löschen prüfen',
  keep: 'Behalten',
  useStored: 'Gespeicherte Fassung verwenden',
  noDescription: 'Keine Beschreibung.',
  itemRemoved: 'Das Element wurde entfernt.',
  deleted: 'Das wurde gelöscht.',
  addMine: 'Meine Eingabe als neues Element hinzufügen',
  createAgain: 'Mit meiner Eingabe neu erstellen',
  typed: 'Ihre Eingabe',
  cannotSave:
    'Das kann hier nicht gespeichert werden: Der Name gehört jetzt zu etwas anderem. Kopieren Sie, was Sie brauchen.',
  deleteAnyway: 'Trotzdem löschen',
}

const imports = (noun: Declined): Messages['imports'] => ({
  title: 'Archiv importieren',
  text: `Übernehmen Sie die Eigenschaften, Listen und Dateien, die ${noun.ein('ein', 'nominative')} dieses oder eines anderen Dienstes exportiert hat. Verbindungen, Apps, Verlauf und Aktivitäten werden nicht übernommen.`,
  upload: 'Archiv auswählen',
  file: 'Archiv',
  fileHint: (largest) => `Die Datei aus „Ihre Daten exportieren“, bis zu ${largest}.`,
  existing: `Wenn ${noun.ein('Ihr', 'nominative')} unter demselben Namen etwas anderes hat`,
  keep: 'Behalten, was hier ist',
  replace: 'Durch das Archiv ersetzen',
  button: 'Importieren',
  last: 'Letzter Import',
  running: (position, records) => `Import läuft: ${number(position)} von ${number(records)} Einträgen.`,
  stop: 'Import anhalten',
  ended: 'Der Import ist bereits beendet.',
  done: (moment) => html`Beendet ${moment}.`,
  stopped: (moment) =>
    html`Angehalten ${moment}. Was übernommen wurde, bleibt. Importieren Sie das Archiv noch einmal, um fortzufahren.`,
  failed: (moment) =>
    html`Fehlgeschlagen ${moment}. Was übernommen wurde, bleibt. Importieren Sie das Archiv noch einmal, um fortzufahren.`,
  kind: 'Inhalt',
  imported: 'Importiert',
  same: 'Schon hier',
  number,
  kinds: { property: 'Eigenschaften', list: 'Listen', item: 'Listeneinträge', file: 'Dateien' },
  kept: (names) => `Nicht importiert: ${count(names, 'Name ist', 'Namen sind')} vergeben`,
  keptText: `${noun.ein('Ihr', 'nominative')} hat unter diesen Namen etwas anderes. Um es zu ersetzen, importieren Sie das Archiv noch einmal und wählen Sie „Durch das Archiv ersetzen“.`,
  refused: (records) => `Nicht angenommen: ${count(records, 'Eintrag', 'Einträge')}`,
  more: (names) => `und ${number(names)} weitere`,
  leftOut: (records) =>
    `${count(records, 'weiteren Eintrag', 'weitere Einträge')} des Archivs, etwa Verbindungen und Aktivitäten, kann nur der Betrieb wiederherstellen.`,
  history: 'Änderungen im Verlauf ansehen und rückgängig machen',
})

const moving = (noun: Declined): Messages['moving'] => ({
  title: 'Zu einem anderen Dienst umziehen',
  text: `Nehmen Sie ${noun.ein('Ihr', 'accusative')} zu einem anderen Dienst mit. Die alte Adresse führt danach zur neuen.`,
  begin: 'Jetzt umziehen',
  comes: 'Daten, Dateien, Verlauf und Verbindungen ziehen mit um. Ihre Verbindungen erfahren die neue Adresse.',
  stays:
    'Verbundene Apps, Geräte, API-Schlüssel und Konten bei anderen Diensten bleiben zurück. Sie wählen eine neue Anmeldung.',
  frozen: `Während des Umzugs kann ${noun.ein('Ihr', 'nominative')} weder gelesen noch geändert werden. Danach wird hier alles gelöscht.`,
  to: 'Adresse des anderen Dienstes',
  toHint: 'Zum Beispiel https://example.com. Der Dienst muss Umzüge annehmen.',
  button: 'Umziehen',
  wrongAddress: 'Geben Sie die Adresse eines anderen Dienstes ein, zum Beispiel https://example.com.',
  notAgreed: (said) =>
    said === '' ? 'Der andere Dienst ist nicht erreichbar.' : `Der andere Dienst hat nicht zugestimmt: ${said}`,
  leaving: 'Der Umzug läuft',
  leavingText: (to, moment) => html`Nach ${to}, begonnen ${moment}.`,
  moved: `${noun.ein('Ihr', 'nominative')} ist umgezogen`,
  movedText: (to) => `Die neue Adresse ist ${to}. Dort können Sie übernehmen, was umgezogen ist.`,
  claimText: `Mit diesem Link übernehmen Sie ${noun.ein('Ihr', 'accusative')} beim anderen Dienst. Er gilt einmal. Bis dahin finden Sie ihn hier, wenn Sie sich anmelden.`,
  claimLink: 'Weiter beim anderen Dienst',
  stop: 'Umzug abbrechen',
  ended: 'Der Umzug ist bereits beendet.',
  failed: 'Der letzte Umzug ist gescheitert',
  failedText: (to) => `${noun.ein('Ihr', 'nominative')} ist noch hier. Der Umzug nach ${to} war nicht möglich.`,
  arrived: 'Hierher umgezogen',
  arrivedText: (from, moment) => html`Von ${from}, ${moment}.`,
  peers: 'Ihre Verbindungen und die neue Adresse',
  states: {
    waiting: 'Noch nicht mitgeteilt',
    informed: 'Mitgeteilt',
    asked: 'Neu angefragt, weil jener Dienst Umzügen nicht folgen kann',
    kept: 'Nutzt die frühere Adresse, weil jener Dienst einer Änderung nicht folgen kann',
    failed: 'Nicht erreicht',
  },
  more: (peers) => `und ${number(peers)} weitere`,
  retry: 'Noch einmal versuchen',
})

const arrival = (noun: Declined): Messages['arrival'] => ({
  title: `${noun.ein('Ihr', 'accusative')} übernehmen`,
  text: (from) => `Der Umzug von ${from} ist beendet.`,
  keepTitle: 'Was verbunden bleibt',
  keepText:
    'Das ist mit umgezogen und kann sehen, was Sie künftig speichern. Die Namen hat niemand geprüft. Wählen Sie nur aus, was Sie kennen. Alles andere endet jetzt.',
  kinds: {
    relationship: 'Verbindungen',
    webhook: 'Webhooks',
    companion: 'Konten bei anderen Diensten',
    invitation: 'Offene Einladungen',
    trustee: 'Konto, zu dem dieses gehört',
  },
  noName: 'Ohne Namen',
  ownRights: 'mit geändertem Zugriff',
  allTitle: 'Alles zusammen',
  all: (readers) => `Ich kenne alle ${readers}: behalten`,
  listChanged: 'Diese Liste hat sich geändert. Prüfen Sie sie noch einmal.',
  signInTitle: 'Wie Sie sich künftig anmelden',
  coming: `${noun.ein('Ihr', 'nominative')} ist unterwegs`,
  comingText: (from) => `Der Umzug von ${from} läuft noch. Versuchen Sie es gleich noch einmal.`,
  reload: 'Neu laden',
  used: 'Dieser Link gilt nicht',
  usedText:
    'Er wurde schon benutzt oder ist unvollständig. Wenn Sie sich hier schon angemeldet haben, melden Sie sich wieder an.',
  signIn: 'Zur Anmeldung',
  byPassphrase: 'Mit einer Passphrase',
  takenText: 'Speichern Sie die neue Passphrase jetzt. Sie wird nur dieses Mal angezeigt.',
  name: 'Name',
  passphrase: 'Passphrase',
  open: 'Öffnen',
})

const files = (noun: Declined): Messages['files'] => ({
  title: 'Dateien',
  text: `Bilder, Dokumente und andere Dateien in ${noun.ein('Ihr', 'dative')}. Personen und Apps sehen eine Datei nur, wenn Sie ihnen Zugriff geben.`,
  size: (bytes) => size(bytes),
  usage: (total, used, most) => `${count(total, 'Datei', 'Dateien')} · ${used} von ${most}`,
  empty: 'Noch keine Dateien.',
  noMore: 'Keine weiteren Dateien.',
  first: 'Erste Seite',
  next: 'Weiter',
  upload: 'Datei hochladen',
  name: 'Name',
  nameHint: 'Ohne Eingabe bleibt der Name der Datei. Eine Datei mit demselben Namen wird ersetzt.',
  file: 'Datei',
  fileHint: (largest) => `Bis zu ${largest}.`,
  uploadButton: 'Hochladen',
  facts: (fileSize, type, updated) => html`${fileSize} · ${type} · geändert ${updated}`,
  delete: (name) => `${name} löschen`,
  deleteText: 'Diese Datei löschen? Das kann nicht rückgängig gemacht werden.',
  noFile: 'Wählen Sie eine Datei aus.',
  gone: 'Diese Datei wurde bereits gelöscht.',
})

const subjects: Messages['subjects'] = {
  properties: 'Eigenschaften',
  files: 'Dateien',
  methods: 'Methoden',
  actions: 'Aktionen',
  tools: 'Tools',
  resources: 'Ressourcen',
  prompts: 'Prompts',
}

const verbs: Messages['verbs'] = {
  read: 'ansehen',
  append: 'ergänzen',
  write: 'ändern',
  delete: 'löschen',
  subscribe: 'abonnieren',
  call: 'aufrufen',
  execute: 'ausführen',
  use: 'verwenden',
  invoke: 'verwenden',
}

const noAccess: Messages['noAccess'] = {
  properties: 'Keine Eigenschaften oder Listen.',
  files: 'Keine Dateien.',
  methods: 'Keine Methoden.',
  actions: 'Keine Aktionen.',
  tools: 'Keine Tools.',
  resources: 'Keine Ressourcen.',
  prompts: 'Keine Prompts.',
}

const direct = {
  properties: 'Eigenschaften oder Listen nicht direkt',
  files: 'Dateien nicht',
  methods: 'Methoden nicht',
  actions: 'Aktionen nicht',
  tools: 'Tools nicht',
  resources: 'Ressourcen nicht',
  prompts: 'Prompts nicht',
} as const satisfies Record<RuledCategory, string>

function objectsOf({ isAll, names, places, beginnings, shapes }: Covered): string {
  if (isAll) return 'alles'
  return and([
    ...quoted(names),
    ...(places.length === 0 ? [] : [`alles in ${and(quoted(places))}`]),
    ...(beginnings.length === 0 ? [] : [`Namen, die mit ${or(quoted(beginnings))} beginnen`]),
    ...(shapes.length === 0 ? [] : [`Namen nach dem Muster ${or(quoted(shapes))}`]),
  ])
}

function exceptionsOf({ isAll, names, places, beginnings, shapes }: Covered): string {
  if (isAll) return 'alles'
  return and([
    ...quoted(names),
    ...(places.length === 0 ? [] : [`den Inhalt von ${and(quoted(places))}`]),
    ...(beginnings.length === 0 ? [] : [`Namen, die mit ${or(quoted(beginnings))} beginnen`]),
    ...(shapes.length === 0 ? [] : [`Namen nach dem Muster ${or(quoted(shapes))}`]),
  ])
}

const rights = (noun: Declined): Messages['rights'] => ({
  can: (verbs, objects, except, until) =>
    `Kann ${until === null ? '' : `bis ${exact(until)} `}${objectsOf(objects)}${except === null ? '' : ` (außer ${exceptionsOf(except)})`} ${and(verbs)}.`,
  blocked: (objects) => `Gesperrt: ${exceptionsOf(objects)}.`,
  cannot: (verbs, category) => `Kann ${direct[category]} ${or(verbs)}.`,
  onlyForApps: 'Nur KI-Apps können das verwenden.',
  mayChangeData: 'Sie tun, was die Anwendung festlegt; dazu kann das Ändern und Löschen Ihrer Daten gehören.',
  editCoversItems: 'Zum Ändern einer Liste gehört das Hinzufügen und Entfernen von Elementen.',
  wholeAccount: (verbs) => `Kann ${noun.ein('Ihr', 'accusative', 'ganz')} ${and(verbs)}.`,
  allConnections: (verbs) => `Kann Ihre Verbindungen ${and(verbs)}, auch die mit anderen Personen.`,
  allSubscriptions: (verbs) => `Kann die Abonnements ${noun.ein('Ihr', 'genitive')} ${and(verbs)}.`,
  allServices: (verbs) => `Kann Ihre Verbindungen zu anderen Diensten ${and(verbs)}.`,
  act: (verb, name) => `${quote(name)} ${verb}`,
  verbs: (verbs) => and(verbs),
  fullControl: (sentences) => html`<strong>Volle Kontrolle:</strong> ${sentences.join(' ')}`,
  noDefault: 'Kein Zugriff als Voreinstellung',
})

const reached: Messages['reached'] = {
  properties: (verb, some, all) => `${number(some)} von ${number(all)} Eigenschaften ${verb}`,
  lists: (verb, some, all) => `${number(some)} von ${number(all)} Listen ${verb}`,
  files: (verb, some, all) => `${number(some)} von ${number(all)} Dateien ${verb}`,
  methods: (verb, some, all) => `${number(some)} von ${number(all)} Methoden ${verb}`,
  actions: (verb, some, all) => `${number(some)} von ${number(all)} Aktionen ${verb}`,
  tools: (verb, some, all) => `${number(some)} von ${number(all)} Tools ${verb}`,
  resources: (verb, some, all) => `${number(some)} von ${number(all)} Ressourcen ${verb}`,
  prompts: (verb, some, all) => `${number(some)} von ${number(all)} Prompts ${verb}`,
}

const review = (noun: Declined): Messages['review'] => ({
  willBeAble: (who, level) =>
    html`<strong>${who}</strong> erhält als <strong>${level}</strong> diesen Zugriff auf ${noun.ein('Ihr', 'accusative')}:`,
  nothingNow: 'Das gibt keinen Zugriff auf Ihre jetzigen Daten.',
  now: 'Mit Ihren jetzigen Daten bedeutet das:',
  names: (act, names, more) =>
    html`${act}: <span class="names">${quoted(names).join(', ')}${more === 0 ? '' : ` und ${number(more)} weitere`}</span>`,
  confirm: (who) => html`Geben Sie zur Bestätigung <strong>${who}</strong> oder die Adresse ein`,
  confirmMissing: (who) => `Geben Sie ${quote(who)} oder die Adresse ein, um fortzufahren.`,
  confirmWrong: (who) => `Ihre Eingabe ist weder ${quote(who)} noch die Adresse.`,
  changed: 'Dieser Zugriff hat sich inzwischen geändert. Prüfen Sie ihn noch einmal.',
  grants: (subject, sentences) => html`<span>${subject}:</span> ${sentences.join(' ')}`,
  none: 'Kein Zugriff als Voreinstellung.',
})

const listing: Messages['listing'] = { search: 'Suchen' }

const connections = (noun: Declined): Messages['connections'] => ({
  title: 'Verbindungen',
  text: `Personen und Apps, die mit ${noun.ein('Ihr', 'dative')} verbunden sind. Sie können nur, was Sie erlauben.`,
  connect: 'Mit jemandem verbinden',
  invite: 'Jemanden einladen',
  empty: `Noch keine Verbindungen. Laden Sie jemanden ein, senden Sie eine Anfrage, oder geben Sie Ihre ${noun.one}-URL weiter.`,
  inPicture: (shown) => `Die ${number(shown)} zuletzt aktiven.`,
  you: 'Sie',
  searchLabel: 'Name, Adresse oder Zugriffsstufe',
  kindFilter: 'Arten von Verbindungen',
  allKinds: 'Alle',
  kinds: { people: 'Personen', apps: 'Apps', waiting: 'Offen', paused: 'Pausiert' },
  columns: { name: 'Name', level: 'Zugriffsstufe', state: 'Status', active: 'Zuletzt aktiv' },
  noMatch: 'Keine Verbindung passt.',
  showAll: 'Alle Verbindungen anzeigen',
  latest: 'Zuletzt aktiv',
  pending: (requests) => count(requests, 'offene Anfrage', 'offene Anfragen'),
  wants: (name, level) => html`<strong>${name}</strong> möchte sich als <strong>${level}</strong> verbinden.`,
  review: (name) => html`Anfrage prüfen<span class="unseen">: ${name}</span>`,
  app: 'App',
  customAccess: 'Angepasster Zugriff',
  unnamed: (id) => `${noun.one} ${id}`,
  claims: (name) => `Nennt sich jetzt „${name}“. Sie haben die App unter dem Namen oben verbunden.`,
  unverifiedName: 'Nicht geprüft. Sie haben die App unter einem anderen Namen verbunden.',
})

const standing: Messages['standing'] = {
  waiting: 'Offen',
  asked: 'Anfrage gesendet',
  approvedHere: 'Wartet auf Gegenseite',
  appActive: 'Aktiv',
  appPaused: 'Pausiert',
  mutual: 'Verbunden',
  waitingText: 'Möchte sich verbinden. Bis Sie genehmigen, besteht kein Zugriff.',
  askedText: 'Anfrage gesendet. Die Genehmigung steht noch aus.',
  pausedText: 'Der Zugriff ist auf beiden Seiten pausiert.',
  approvedHereText: 'Sie haben genehmigt. Die Gegenseite noch nicht.',
  mutualText: 'Verbunden.',
  appText: 'Diese App hat Zugriff.',
  appPausedText: 'Zugriff pausiert.',
}

const request = (noun: Declined): Messages['request'] => ({
  title: 'Mit jemandem verbinden',
  text: `Die andere Person erhält eine Anfrage und den unten gewählten Zugriff auf ${noun.ein('Ihr', 'accusative')}. Sie entscheidet, worauf Sie bei ihr Zugriff haben. Sie können das später ändern.`,
  address: `${noun.one}-URL der anderen Person`,
  addressHint: 'Die andere Person findet sie auf ihrer Übersicht. Auch ein Einladungslink ist möglich.',
  level: `Zugriff auf ${noun.ein('Ihr', 'accusative')}`,
  message: 'Nachricht',
  review: 'Anfrage prüfen',
  reviewTitle: 'Prüfen Sie Ihre Anfrage',
  before: 'Vor dem Senden',
  messageIs: (message) => html`Nachricht: <q>${message}</q>`,
  notSent: 'Noch nicht gesendet. Der Zugriff beginnt, sobald die Anfrage ankommt, noch vor der Annahme.',
  send: 'Anfrage senden',
  back: 'Zurück',
  addressMissing: `Geben Sie die ${noun.one}-URL der anderen Person ein.`,
  addressInvalid: `Geben Sie eine ${noun.one}-URL ein, zum Beispiel https://example.com/5f0c…`,
  ownAddress: `Das ist ${noun.ein('Ihr', 'nominative', 'eigen')}.`,
  invitationInvalid: 'Das ist kein Einladungslink.',
  invitationEnded: 'Diese Einladung wurde verwendet, ist abgelaufen oder nicht erreichbar. Bitten Sie um eine neue.',
  levelMissing: 'Wählen Sie den Zugriff aus.',
  levelUnknown: (level) => `Es gibt keine Zugriffsstufe namens ${quote(level)}.`,
  levelPowerful: (level) => `${quote(level)} können Sie nur einer bestehenden Verbindung geben, auf deren Seite.`,
  levelForApps: (level) => `${quote(level)} ist für Apps.`,
  unreachable: `Unter dieser Adresse ist ${noun.ein('kein', 'nominative')} erreichbar. Prüfen Sie die Adresse und versuchen Sie es erneut.`,
  alreadyConnected: (level) =>
    `Sie sind bereits als ${level} verbunden. Trennen Sie diese Verbindung zuerst, oder versuchen Sie es später erneut.`,
})

const invite = (noun: Declined): Messages['invite'] => ({
  title: 'Jemanden einladen',
  text: `Erstellen Sie einen Link und senden Sie ihn. Wer ihn zuerst öffnet und bestätigt, ist mit ${noun.ein('Ihr', 'dative')} verbunden, ohne weitere Genehmigung.`,
  valid: 'Gültig für',
  days: (days) => count(days, 'Tag', 'Tage'),
  theySee: (name) => `Ihr Name ist sichtbar: ${name}.`,
  withoutName:
    'Ihr Name ist nicht sichtbar, weil Sie keinen Anzeigenamen haben. Sie können ihn in den Einstellungen festlegen.',
  create: 'Link erstellen',
  created: 'Senden Sie diesen Link jetzt',
  createdText: (level, end) =>
    html`Wir können ihn nicht noch einmal anzeigen. Wer ihn zuerst öffnet, kann sich als <strong>${level}</strong> verbinden; er endet ${end}.`,
  link: 'Einladungslink',
  byEmail: 'Per E-Mail senden',
  qr: 'QR-Code des Links',
  open: (invitations) => count(invitations, 'offene Einladung', 'offene Einladungen'),
  invitation: (nickname, level) =>
    nickname === '' ? html`<strong>${level}</strong>` : html`<strong>${nickname}</strong> als ${level}`,
  ends: (end) => html`endet ${end}`,
  revoke: (who) => html`Widerrufen<span class="unseen">: ${who}</span>`,
  tooMany: (most) => `${number(most)} Einladungen sind offen. Widerrufen Sie zuerst eine.`,
})

const invited = (noun: Declined): Messages['invited'] => ({
  title: (app) => `Einladung, sich in ${app} zu verbinden`,
  titleFrom: (inviter, app) => `${inviter} lädt Sie ein, sich in ${app} zu verbinden`,
  text: (level) =>
    html`Sie erhalten diesen Zugriff als <strong>${level}</strong>. Es geschieht nichts, bis Sie bestätigen.`,
  nothingYet: 'Es geschieht nichts, bis Sie bestätigen.',
  signIn: 'Anmelden und fortfahren',
  review: 'Prüfen und verbinden',
  signedInAs: (who) => `Sie sind als ${who} angemeldet.`,
  own: 'Das ist Ihre eigene Einladung. Senden Sie den Link der Person, mit der Sie sich verbinden möchten.',
  elsewhere: `Haben Sie ${noun.ein('ein', 'accusative')} bei einem anderen Dienst?`,
  elsewhereText: `Kopieren Sie diesen Link, und fügen Sie ihn dort unter „Mit jemandem verbinden“ als ${noun.one}-URL ein.`,
  link: 'Einladungslink',
  ended: 'Diese Einladung wurde verwendet oder ist abgelaufen. Bitten Sie um eine neue.',
})

const peer = (noun: Declined): Messages['peer'] => ({
  approve: 'Diese Anfrage genehmigen?',
  resume: 'Zugriff fortsetzen?',
  message: (message) => html`Nachricht: <q>${message}</q>`,
  unverified: (host) =>
    html`<strong>Adresse nicht bestätigt.</strong> Wir konnten nicht bestätigen, dass diese Anfrage von ${host} kommt. Genehmigen Sie sie nur, wenn Sie sie erwartet haben.`,
  ifApproved: 'Wenn Sie genehmigen, besteht der unten aufgeführte Zugriff.',
  approveButton: 'Genehmigen',
  decline: 'Ablehnen',
  changeLevel: 'Zugriffsstufe ändern',
  changeLevelText: (name, level) =>
    html`Jetzt: <strong>${level}</strong>. ${name} erhält eine Anfrage für die neue Stufe, die für beide Seiten gilt.`,
  levelLegend: `Zugriff auf ${noun.ein('Ihr', 'accusative')}`,
  reviewLevel: 'Änderung prüfen',
  levelTitle: (level) => `Zugriffsstufe zu ${level} ändern?`,
  levelNotSent: 'Noch nicht gesendet. Der neue Zugriff beginnt, sobald die Anfrage ankommt.',
  levelSend: 'Anfrage senden',
  cancel: 'Abbrechen',
  details: 'Details',
  address: 'Adresse',
  level: 'Zugriffsstufe',
  app: 'App',
  connected: 'Verbunden',
  lastActive: 'Zuletzt aktiv',
  addressProof: 'Nachweis der Adresse',
  verified: 'Bestätigt',
  notVerified: 'Nicht bestätigt',
  firstMessage: 'Nachricht',
  ownName: 'Selbst gewählter Name',
  claimedName: 'Nennt sich jetzt',
  nickname: 'Eigener Name',
  nicknameHint: 'Nur Sie sehen ihn, anstelle des Namens, den die Gegenseite gewählt hat.',
  addNickname: 'Eigenen Namen geben',
  changeNickname: 'Eigenen Namen ändern',
  saveNickname: 'Namen speichern',
  profile: (name) => `Profil: ${name}`,
  updates: 'Aktualisierungen',
  subscribeText: (name) => `Abonnieren Sie, um eine aktuelle Kopie der Daten zu behalten, die ${name} mit Ihnen teilt.`,
  subscribe: 'Abonnieren',
  subscribed: (name, href) => html`Abonniert. <a href="${href}">Daten von ${name} ansehen</a>`,
  access: 'Zugriff',
  noAccessYet: 'Noch kein Zugriff. Nach der Genehmigung:',
  byLevel: (level) => `Zugriffsstufe: ${level}. Alles andere ist gesperrt.`,
  customized: (level) => `${level}, von Ihnen angepasst. Alles andere ist gesperrt.`,
  viewAs: (name) => `Als ${name} ansehen`,
  recent: 'Letzte Aktivität',
  viewActivity: 'Aktivität ansehen',
})

const membership = (noun: Declined): Messages['membership'] => ({
  title: 'Mitglieder',
  text: 'Jedes Mitglied hat eine Rolle, die festlegt, was es in dieser Gruppe tun kann. Die Gruppe erhält keinen Zugriff auf ihre Mitglieder. Sie sendet ihnen nur, was sie veröffentlicht.',
  none: 'Noch keine Mitglieder.',
  all: 'Alle Mitglieder anzeigen',
  role: 'Rolle',
  noRole: 'Noch keine Rolle',
  has: (role, since) => html`<strong>${role}</strong> seit ${since}`,
  manages: 'Verwaltet die Gruppe',
  by: { application: 'Von der Anwendung vergeben', invitation: 'Eingeladen', owner: 'Auf dieser Seite vergeben' },
  byMember: (name) => `Vergeben von ${name}`,
  change: 'Rolle ändern',
  changeOf: (name) => html`Rolle ändern<span class="unseen">: ${name}</span>`,
  give: (name) => html`Rolle geben<span class="unseen">: ${name}</span>`,
  roleOf: (name) => html`Rolle<span class="unseen">: ${name}</span>`,
  remove: 'Entfernen…',
  removeText: (name) => `${name} verliert sofort jeden Zugriff auf die Gruppe und erfährt davon.`,
  removeButton: (name) => `${name} entfernen`,
  gone: 'Dieses Mitglied hat die Gruppe inzwischen verlassen.',
  roleUnknown: 'Wählen Sie eine der Rollen.',
  lastManager:
    'Das letzte Mitglied, das die Gruppe verwaltet, behält seine Rolle. Geben Sie zuerst einem anderen Mitglied eine Rolle, die verwaltet.',
  requests: (requests) => count(requests, 'Anfrage', 'Anfragen'),
  requestsText: 'Der Zugriff beginnt, sobald Sie eine Rolle geben, nicht vorher.',
  roles: 'Rollen',
  nothing: 'Kein Zugriff.',
  invite: 'Mitglied einladen',
  inviteText: 'Wer den Link zuerst öffnet und bestätigt, wird Mitglied mit dieser Rolle.',
  membership: 'Mitgliedschaft',
  asks: (name) => `${name} möchte Mitglied werden und erhält keinen Zugriff, bis Sie eine Rolle geben.`,
  choose: 'Rolle wählen',
  roleDecides:
    'Allein die Rolle eines Mitglieds legt dessen Zugriff fest. Geben Sie dem Mitglied eine andere Rolle, um ihn zu ändern.',
  accessByRole: 'Nach der Rolle des Mitglieds. Was nicht aufgeführt ist, ist gesperrt.',
  byRole: (isAllowed) =>
    isAllowed ? 'Die Rolle des Mitglieds erlaubt es.' : 'Die Rolle des Mitglieds erlaubt es nicht.',
  toChange: 'Geben Sie dem Mitglied eine andere Rolle, um das zu ändern.',
  becomes: (group, kind, role) =>
    html`Sie werden Mitglied von <strong>${group}</strong> (${kind}) mit der Rolle <strong>${role}</strong>.`,
  described: (role, text) => `${role}: ${text}`,
  inGroup: 'In dieser Gruppe gibt Ihnen die Rolle nach Angabe der Gruppe diesen Zugriff:',
  oneWay: `Die Gruppe erhält keinen Zugriff auf ${noun.ein('Ihr', 'accusative')}. Sie sendet Ihnen nur, was sie veröffentlicht.`,
  otherWay: 'Diese Verbindung gibt der Gruppe mehr als eine Mitgliedschaft:',
  notSent:
    'Noch nicht gesendet. Ihre Mitgliedschaft beginnt, wenn Sie bestätigen. Die Gruppe kann Ihre Rolle jederzeit ändern oder die Mitgliedschaft beenden.',
  send: 'Mitglied werden',
  byInvitation: 'Eine Mitgliedschaft beginnt mit einer Einladung der Gruppe. Geben Sie deren Link ein.',
  mayChangeData: 'Sie tun, was die Gruppe festlegt; dazu kann das Ändern und Löschen ihrer Daten gehören.',
})

const peerErrors: Messages['peerErrors'] = {
  notConnected: 'Nur eine bestehende Verbindung kann eine andere Zugriffsstufe erhalten.',
  levelMissing: 'Wählen Sie eine Zugriffsstufe aus.',
  levelUnknown: 'Wählen Sie eine der Zugriffsstufen aus.',
  ended: 'Diese Verbindung wurde inzwischen beendet oder geändert.',
  changed: 'Diese Verbindung wurde inzwischen geändert. Prüfen Sie sie, bevor Sie fortfahren.',
  rightsChanged: 'Der Zugriff wurde während Ihrer Bearbeitung geändert. Nichts wurde gespeichert.',
  levelRefused: (level) =>
    `Die Anfrage wurde nicht angenommen. Wer ${quote(level)} genehmigt hat, muss diesen Zugriff erst pausieren, bevor eine andere Stufe vereinbart werden kann.`,
  notSubscribed:
    'Abonnieren nicht möglich. Die Gegenseite hat abgelehnt oder ist nicht erreichbar; versuchen Sie es später erneut.',
  approvalEnded: 'Die Genehmigung ist inzwischen abgelaufen. Sie können erneut genehmigen.',
  timeInvalid: 'Geben Sie Datum und Uhrzeit ein, zum Beispiel 2030-01-31T18:00.',
  timePast: 'Wählen Sie einen Zeitpunkt in der Zukunft.',
  nicknameTooLong: (most) => `Verwenden Sie höchstens ${number(most)} Zeichen.`,
}

const ends: Messages['ends'] = {
  approval: 'Ende Ihrer Genehmigung',
  approvalText: (end, name) =>
    end === null
      ? html`Sie hat kein Ende. Nach einem Ende, das Sie setzen, hat ${name} keinen Zugriff, bis Sie erneut genehmigen.`
      : html`Sie endet am ${end}. Dann hat ${name} keinen Zugriff, bis Sie erneut genehmigen.`,
  grants: (name) => `Nur für ${name} freigegeben`,
  grant: (subject, verbs, pattern, until) =>
    html`${subject}: kann <strong>${pattern}</strong> ${verbs}${until === null ? '' : html`, bis ${until}`}`,
  withdraw: (verbs, pattern) => html`Entfernen<span class="unseen">: ${pattern} ${verbs}</span>`,
  end: 'Ende, in UTC',
  endHint: 'Ohne Eingabe gibt es kein Ende.',
  save: 'Ende speichern',
}

const check: Messages['check'] = {
  title: 'Zugriff prüfen',
  action: 'Vorgang',
  name: 'Name',
  button: 'Prüfen',
  allowed: 'Erlaubt.',
  blocked: 'Gesperrt.',
  can: (who, verb, name) => `${who} kann ${quote(name)} ${verb}.`,
  cannot: (who, verb, name) => `${who} kann ${quote(name)} nicht ${verb}.`,
}

const checkOptions: Messages['checkOptions'] = {
  properties: (verb) => `Eigenschaft ${verb}`,
  lists: (verb) => `Liste ${verb}`,
  files: (verb) => `Datei ${verb}`,
  methods: (verb) => `Methode ${verb}`,
  actions: (verb) => `Aktion ${verb}`,
  tools: (verb) => `Tool ${verb}`,
  resources: (verb) => `Ressource ${verb}`,
  prompts: (verb) => `Prompt ${verb}`,
}

const because = (noun: Declined): Messages['because'] => ({
  onlyForApps: `Nur KI-Apps können das verwenden, und dies ist ${noun.ein('ein', 'nominative', 'ander')}.`,
  visibleParts: 'Sichtbar sind nur die Teile, für die Zugriff besteht.',
  notApproved: 'Sie haben diese Verbindung nicht genehmigt.',
  notGranted: (level) => `Weder ${level} noch Sie geben diesen Zugriff.`,
  grantedAlone: (objects) => `Sie haben ${objectsOf(objects)} nur hier freigegeben.`,
  youAllow: (objects) => `Sie erlauben ${objectsOf(objects)}.`,
  levelAllows: (level, objects) => `${level} erlaubt ${objectsOf(objects)}.`,
  youOmit: (verb) => `Ihre Regeln erlauben hier nicht: ${verb}.`,
  levelOmits: (level, verb) => `${level} erlaubt hier nicht: ${verb}.`,
  youBlock: (objects) => `Sie sperren ${exceptionsOf(objects)}.`,
  levelBlocks: (level, objects) => `${level} sperrt ${exceptionsOf(objects)}.`,
  decidedAs: (verb, name) => `Es entscheidet die Regel für: ${quote(name)} ${verb}.`,
  needsApproval: 'Sie genehmigen jeden Aufruf.',
})

const missing: Messages['missing'] = {
  properties: (name) => `Es gibt zurzeit keine Eigenschaft namens ${quote(name)}.`,
  files: (name) => `Es gibt zurzeit keine Datei namens ${quote(name)}.`,
  methods: (name) => `Es gibt zurzeit keine Methode namens ${quote(name)}.`,
  actions: (name) => `Es gibt zurzeit keine Aktion namens ${quote(name)}.`,
  tools: (name) => `Es gibt zurzeit kein Tool namens ${quote(name)}.`,
  resources: (name) => `Es gibt zurzeit keine Ressource namens ${quote(name)}.`,
  prompts: (name) => `Es gibt zurzeit keinen Prompt namens ${quote(name)}.`,
}

const toChange = (noun: Declined): Messages['toChange'] => ({
  offer: 'Die Anwendung müsste es anbieten.',
  onlyForApps: `Keine Einstellung erlaubt das für ${noun.ein('ein', 'accusative', 'ander')}.`,
  put: (name, field) => `Tragen Sie unter „Erweitert“ ${quote(name)} bei ${quote(field)} ein.`,
  putAndTick: (name, field, verb) =>
    `Tragen Sie unter „Erweitert“ ${quote(name)} bei ${quote(field)} ein, und wählen Sie ${quote(verb)} aus.`,
  tick: (verb) => `Wählen Sie unter „Erweitert“ ${quote(verb)} aus.`,
  remove: (field) => `Entfernen Sie den Eintrag unter „Erweitert“ bei ${quote(field)}.`,
  pause: 'Pausieren Sie den Zugriff.',
  approve: 'Genehmigen Sie die Verbindung.',
  otherLevel: (level) => `${level} sperrt das immer. Wählen Sie eine andere Zugriffsstufe.`,
  otherLevelOrApp: (level, name) =>
    `${level} sperrt das immer. Wählen Sie eine andere Zugriffsstufe, oder eine Anwendung, die ${quote(name)} für jeden Vorgang erlaubt.`,
})

const accessTable: Messages['accessTable'] = {
  title: (name) => `Worauf ${name} zugreifen kann`,
  data: 'Ihre Daten',
  calls: 'Aktionen und Tools',
  view: 'Ansehen',
  edit: 'Bearbeiten',
  remove: 'Löschen',
  subscribe: 'Abonnieren',
  use: 'Verwenden',
  setBy: 'Festgelegt durch',
  choice: 'Zugriff',
  you: 'Sie',
  noRule: 'Keine Regel',
  yes: 'Erlaubt',
  add: 'Nur hinzufügen',
  ask: 'Fragt Sie',
  no: 'Nicht erlaubt',
  default: 'Standard',
  allow: 'Erlauben',
  allowAll: 'Alles erlauben',
  block: 'Blockieren',
  byPattern: 'Nur mit Muster',
  choose: (name) => `Zugriff auf ${quote(name)}`,
  choicesText: (level) =>
    `Standard folgt ${level} und Ihren Mustern. „Erlauben“ und „Blockieren“ gelten nur für diesen Namen. Was ${level} blockiert, bleibt blockiert.`,
  change: 'Zugriff bearbeiten',
  save: 'Zugriff speichern',
  more: (names) => `${number(names)} weitere nicht angezeigt. Prüfen Sie diese mit „Zugriff prüfen“.`,
}

const editAccess: Messages['editAccess'] = {
  title: 'Erweitert',
  text: (level) =>
    html`Ein Muster pro Zeile. <code>*</code> steht für beliebige Zeichen, zum Beispiel <code>notes/*</code>. Was ${level} sperrt, bleibt gesperrt.`,
  byLevel: (level, sentences) => `Voreinstellung von ${level}: ${sentences.join(' ')}`,
  matches: (matched, all) => `Passt jetzt auf ${number(matched)} von ${number(all)}.`,
  patterns: 'Erlauben',
  excluded_patterns: 'Außer',
  allowed: 'Voller Zugriff auf',
  denied: 'Sperren',
  permissions: 'Berechtigungen',
  only: (level) => `Voreinstellungen von ${level} ignorieren; nur diese Regeln verwenden`,
  preview: 'Änderungen ansehen',
  reset: (level) => `Auf ${level} zurücksetzen …`,
  resetText: (name) => `Entfernt Ihre eigenen Zugriffsregeln für ${name}.`,
  resetButton: 'Zurücksetzen',
  review: 'Änderungen prüfen',
  storedNow: 'Jetzt gespeichert:',
  stored: (subject, sentences) => `${subject}: ${sentences.join(' ')}`,
  noEffect: 'Keine Auswirkung auf Ihre jetzigen Daten.',
  effect: 'Auswirkung auf Ihre jetzigen Daten:',
  gained: 'Kommt hinzu',
  lost: 'Fällt weg',
  notSaved: 'Noch nicht gespeichert. Ihre Eingabe steht im Formular oben und kann weiter geändert werden.',
  save: 'Änderungen speichern',
  cancel: 'Abbrechen',
}

const endings: Messages['endings'] = {
  label: 'Verbindung beenden',
  pause: 'Zugriff pausieren …',
  pauseText: (name) => `${name} verliert sofort den Zugriff. Sie können ihn später fortsetzen.`,
  pauseButton: 'Zugriff pausieren',
  disconnect: 'Trennen …',
  disconnectText: (name) =>
    `${name} verliert den Zugriff, beide Abonnements enden, und Ihre Kopie der fremden Daten wird gelöscht. Die Gegenseite wird benachrichtigt.`,
  disconnectAppText: (name) => `${name} verliert sofort den Zugriff und muss für eine neue Verbindung erneut anfragen.`,
  disconnectButton: (name) => `${name} trennen`,
}

const viewAs: Messages['viewAs'] = {
  title: (name) => `Ansicht als ${name}`,
  text: (name) => `Das ist alles, was ${name} jetzt sehen und aufrufen kann.`,
  notApproved: (name) => `${name} kann nichts sehen: nicht genehmigt.`,
  properties: (total) => (total === 0 ? 'Keine Eigenschaften' : count(total, 'Eigenschaft', 'Eigenschaften')),
  none: 'Keine',
  parts: 'Teilweise sichtbar',
  methods: 'Methoden',
  actions: 'Aktionen',
  tools: 'Tools',
  noMethods: 'Keine Methoden',
  noActions: 'Keine Aktionen',
  noTools: 'Keine Tools',
  asksFirst: 'Fragt Sie vorher',
  kindAnd: (kind, verbs) => `${kind} · Zugriff: ${and(verbs)}`,
}

const subscriptions: Messages['subscriptions'] = {
  title: 'Abonnements',
  text: 'Wer Aktualisierungen von Ihnen erhält und von wem Sie welche erhalten.',
  subscribers: 'Abonnenten',
  noSubscribers: 'Noch keine Abonnenten.',
  own: 'Ihre Abonnements',
  noneOwn: 'Sie haben niemanden abonniert.',
  name: (peer, about) => `${peer} · ${about}`,
  facts: (host, how, updates, since) =>
    html`${host === '' ? '' : `${host} · `}${how} · ${updates === 0 ? 'Noch keine Aktualisierungen' : count(updates, 'Aktualisierung', 'Aktualisierungen')} · seit ${since}`,
  allProperties: 'Alle Eigenschaften',
  everythingIn: (target) => `Alles in ${target}`,
  full: 'Vollständige Aktualisierungen',
  notifications: 'Nur Benachrichtigungen',
  onRequest: 'Auf Abruf',
  upToDate: 'Aktuell',
  stopped: (failures) =>
    `Angehalten nach ${plural(failures, { one: 'einem Fehler', other: `${number(failures)} Fehlern` })}`,
  failed: (failures) => `${number(failures)} fehlgeschlagen`,
  toFetch: (updates) => `${number(updates)} abzurufen`,
  unreachable: (waiting) => `Nicht erreichbar, ${number(waiting)} in der Warteschlange`,
  retrying: (waiting) => `${number(waiting)} werden erneut gesendet`,
  sending: (waiting) => `${number(waiting)} werden gesendet`,
  endedByThem: 'Von der Gegenseite beendet',
  syncing: 'Wird abgeglichen …',
  recovering: 'Eine Aktualisierung fehlt, wird nachgeholt',
  missing: 'Dieses Abonnement gibt es nicht. Vielleicht wurde es beendet.',
}

const subscription: Messages['subscription'] = {
  label: 'Abonnement',
  subscriber: 'Abonnent',
  source: 'Quelle',
  at: (name, host) => (host === '' ? html`${name}` : html`${name} auf ${host}`),
  delivery: 'Zustellung',
  status: 'Status',
  updates: 'Gesendete Aktualisierungen',
  updatesReceived: 'Empfangene Aktualisierungen',
  started: 'Begonnen',
  data: (name) => `Daten von ${name}`,
  sharesNothing: (name) => `${name} teilt nichts mit Ihnen.`,
  noData: 'Noch keine Daten.',
  failures: (failures) =>
    plural(failures, {
      one: `${number(failures)} Aktualisierung wurde nicht zugestellt`,
      other: `${number(failures)} Aktualisierungen wurden nicht zugestellt`,
    }),
  failuresText: (name, failures) =>
    plural(failures, {
      one: `${name} hat sie abgelehnt oder war zu lange nicht erreichbar. Wir haben sie aufbewahrt.`,
      other: `${name} hat diese ${number(failures)} abgelehnt oder war zu lange nicht erreichbar. Wir haben sie aufbewahrt.`,
    }),
  heldBack: 'Aktualisierungen werden zurückgehalten',
  heldBackText: (name) => `${name} ist gerade nicht erreichbar. Es geht nichts verloren.`,
  nextAttempt: (at) => html`Der nächste Versuch ist ${at}.`,
  retry: 'Jetzt erneut senden',
  log: 'Zustellprotokoll',
  filter: 'Ergebnisse',
  all: 'Alle',
  outcomes: { delivered: 'Zugestellt', waiting: 'Wartend', failed: 'Nicht zugestellt' },
  latest: (updates) =>
    plural(updates, { one: 'Letzte Aktualisierung', other: `Letzte ${number(updates)} Aktualisierungen` }),
  summary: ({ delivered, waiting, failed, median }) =>
    [
      `${number(delivered)} zugestellt, ${number(waiting)} wartend, ${number(failed)} nicht zugestellt.`,
      ...(median === null ? [] : [`Die Hälfte dauerte höchstens ${number(median)} ms.`]),
    ].join(' '),
  everything: 'Alles',
  changed: (names, more) => and(more === 0 ? names : [...names, count(more, 'weitere', 'weitere')]),
  numbered: (sequence, at) => html`Nr. ${sequence} · ${at}`,
  empty: 'Keine Aktualisierungen im gespeicherten Protokoll.',
  attempts: (outcome, attempts) => `${outcome} · ${count(attempts, 'Versuch', 'Versuche')}`,
  reason: (outcome, reason) => `${outcome}: ${reason}`,
  waiting: 'In der Warteschlange',
  retrying: 'Wird erneut gesendet',
  delivered: 'Zugestellt',
  deliveredIn: (ms) => `Zugestellt in ${number(ms)} ms`,
  rejected: 'Nicht zugestellt',
  superseded: 'Als Teil einer späteren Aktualisierung zugestellt',
  unsent: 'Zum Abruf bereit',
  fetched: 'Abgerufen',
  end: 'Abonnement kündigen …',
  endText: (name) =>
    `Sie erhalten keine Aktualisierungen von ${name} mehr, und Ihre Kopie der Daten wird gelöscht. Die Gegenseite wird benachrichtigt.`,
  endButton: 'Abonnement kündigen',
  endTheirs: 'Abonnement beenden …',
  endTheirsText: (name) => `${name} erhält keine Aktualisierungen mehr und wird benachrichtigt.`,
  endTheirsButton: 'Abonnement beenden',
}

const restored: Messages['restored'] = {
  ofCopy: (since, copied) =>
    html`Die Daten dieses Dienstes stammen aus einer Kopie (${copied}), die wiederhergestellt wurde (${since}). Änderungen dazwischen fehlen.`,
  ofUnknown: (since) =>
    html`Die Daten dieses Dienstes wurden wiederhergestellt (${since}). Änderungen kurz davor können fehlen.`,
}

const quotas: Messages['quotas'] = {
  title: 'Speicher',
  text: 'Ist eine Grenze erreicht, kann nichts mehr gespeichert werden. Löschen schafft Platz.',
  names: {
    bytes: 'Daten',
    names: 'Eigenschaften',
    items: 'Einträge in Listen',
    file_bytes: 'Inhalt der Dateien',
    files: 'Dateien',
    relationships: 'Verbindungen',
    subscriptions: 'Abonnements',
    webhooks: 'Webhooks',
    keys: 'Zugangsschlüssel',
    members: 'Mitglieder',
  },
  amount: (value) => number(value),
  size: (bytes) => size(bytes),
  used: (used, limit) => `${used} von ${limit}`,
}

const operatorPages: Omit<
  Messages['operator'],
  'ownPages' | 'actors' | 'actorsText' | 'noActors' | 'deliveryColumns' | 'programsText'
> = {
  windowTitle: (title) => `${title} · Betrieb`,
  amount: (value) => number(value),
  size: (bytes) => size(bytes),
  never: 'Nie',
  status: 'Zustand',
  statusText:
    'Die Zahlen gelten für den Prozess, der geantwortet hat, seit seinem Start. Wartende Aktualisierungen sind die aller Prozesse.',
  requests: 'Anfragen',
  failures: (failures) => (failures === 0 ? 'Keine fehlgeschlagen' : `${number(failures)} fehlgeschlagen (5xx)`),
  duration: 'Die Hälfte beantwortet in',
  within: (ms) => (ms === null ? '–' : `${number(ms)} ms`),
  almostAll: (ms) =>
    ms === null ? '99 % dauerten länger als 10 s, oder es gibt keine' : `99 % innerhalb von ${number(ms)} ms`,
  waiting: 'Wartende Aktualisierungen',
  waitingText: 'Abos, die noch etwas senden müssen',
  inProgress: 'In Arbeit',
  inProgressText: 'Anfragen in diesem Moment',
  attention: 'Braucht Aufmerksamkeit',
  noFindings: 'Nichts braucht Ihre Aufmerksamkeit.',
  findings: {
    plainHttp: 'BASE_URL ist http. Browser behalten dann keine Cookies, und niemand kann sich auf den Seiten anmelden.',
    everyAddress: 'HOST öffnet den Port für jedes Netz dieser Maschine, am Proxy vorbei.',
    noBackups:
      'Es sind keine Sicherungen geplant. Setzen Sie TROUPE_BACKUPS auf einen Ordner auf einer anderen Platte.',
    closedMetrics: 'Die Überwachung kann die Metriken nicht lesen. Setzen Sie TROUPE_METRICS_TOKEN.',
    otherAddress: (known) =>
      `Andere kennen diesen Dienst als ${known}, und große Änderungen erreichen sie nicht. Führen Sie troupe readdress aus.`,
    lateBackup: (hours) =>
      `Keine vollständige Sicherung ist neu genug, und alle ${count(hours, 'Stunde', 'Stunden')} ist eine fällig. Suchen Sie im Protokoll nach troupe:backups.`,
    fullDisk: (bytes) => `Die Platte der Datenbank hat nur noch ${size(bytes)} frei.`,
    silentProcess: (hosts) =>
      `Ein Prozess gibt kein Lebenszeichen: ${and(hosts)}. Er wurde beendet, oder er erreicht die Datenbank nicht.`,
    severalReleases: (releases) => `Es laufen Prozesse mehrerer Ausgaben: ${and(releases)}.`,
    waitingMail: (since) =>
      `Die älteste wartende Nachricht an eine Person wurde ${since} gespeichert. Führen Sie troupe mail test aus.`,
  },
  processes: 'Prozesse',
  noProcesses: 'Noch hat kein Prozess ein Lebenszeichen gespeichert.',
  processesText:
    'Ein Programm, das den Dienst mit app.fetch oder toNodeHandler einbettet, speichert kein Lebenszeichen und steht nicht in der Liste.',
  failing: 'Fehlschlagende Aktualisierungen',
  allFailing: 'Alle Fehler',
  slow: 'Langsame Dienste',
  noSlow: 'Kein Dienst braucht mehr als eine Sekunde, um diesem Prozess zu antworten.',
  slowColumns: { host: 'Dienst', duration: 'Mittel der letzten Antworten', calls: 'Aufrufe' },
  processColumns: { host: 'Maschine', version: 'Ausgabe', started: 'Gestartet', seen: 'Letztes Lebenszeichen' },
  silent: 'stumm',
  waitingWork: 'Wartende Arbeit',
  noWaitingWork: 'Im Hintergrund wartet nichts.',
  workColumns: { kind: 'Art', due: 'Wartet', failed: 'Fehlgeschlagen' },
  databaseSize: 'Größe der Datenbank',
  freeSpace: 'Freier Platz auf ihrer Platte',
  backup: 'Letzte Sicherung',
  noBackup: 'Noch keine ist vollständig',
  backupsOff: 'Nicht geplant',
  service: 'Dienst',
  version: 'Ausgabe',
  node: 'Node.js',
  database: 'Datenbank',
  stores: { sqlite: 'SQLite', postgres: 'PostgreSQL' },
  sharded: 'auf mehrere Server verteilt',
  started: 'Gestartet',
  memory: 'Speicher',
  keys: 'Schlüssel für die Verschlüsselung',
  currentKey: (key) => html`Neue Geheimnisse werden mit ${key} verschlüsselt.`,
  olderKeys: (keys) =>
    `Ältere Schlüssel, die noch entschlüsseln: ${and(keys)}. „troupe keys rotate“ verschlüsselt alles mit dem neuen Schlüssel.`,
  noOlderKeys: 'Es sind keine älteren Schlüssel eingestellt.',
  refusals: 'Von Grenzwerten abgelehnt',
  noRefusals: 'Keine Anfrage wurde abgelehnt.',
  attempts: 'Zustellversuche',
  noAttempts: 'Noch wurde nichts zugestellt.',
  search: 'Anfang der Adresse der Person, oder eine Kennung',
  find: 'Suchen',
  showAll: 'Alle anzeigen',
  noneFound: (search) => `Nichts beginnt mit ${quote(search)}.`,
  cut: (shown) => `Hier sind die ersten ${number(shown)}. Geben Sie mehr von der Adresse ein, um andere zu sehen.`,
  order: 'Reihenfolge',
  orders: { newest: 'Neueste', size: 'Größte', activity: 'Aktivste' },
  orderTexts: {
    size: 'Die 50, die am meisten speichern, ohne Dateien.',
    activity:
      'Die 50 mit den meisten der letzten 5.000 aufgezeichneten Anfragen und 5.000 Änderungen aller. Was Personen selbst lesen, wird nicht aufgezeichnet.',
  },
  counted: (time) => html`Gezählt ${time}.`,
  counting: 'Der Dienst zählt gerade neu: Laden Sie die Seite gleich noch einmal.',
  records: (records) => count(records, 'Aufzeichnung', 'Aufzeichnungen'),
  newest: 'Neueste',
  older: 'Ältere',
  first: 'Anfang',
  actorColumns: {
    actor: 'Person',
    created: 'Erstellt',
    lastUsed: 'Zuletzt verwendet',
    data: 'Daten',
    files: 'Dateien',
    connections: 'Verbindungen',
  },
  data: ({ values, items, bytes, isPartial }) => {
    const all = `${count(values, 'Eigenschaft', 'Eigenschaften')}, ${count(items, 'Listenelement', 'Listenelemente')}, ${size(bytes)}`
    return isPartial ? `Mindestens ${all}` : all
  },
  proven: 'Die Person hat diese Adresse bei der Anmeldung nachgewiesen.',
  unproven: 'Niemand hat diese Adresse nachgewiesen.',
  seen: 'Die Person sieht in ihrer Aktivität, dass Sie diese Seite geöffnet haben.',
  facts: 'Angaben',
  id: 'Kennung',
  basicUsed: 'Passphrase zuletzt von einem Programm verwendet',
  properties: 'Eigenschaften',
  lists: 'Listen',
  subscriptions: 'Abos',
  sessions: 'Anmeldungen',
  sized: (values, bytes) => `${number(values)}, ${size(bytes)}`,
  listed: (lists, items, bytes) => `${number(lists)} mit ${count(items, 'Element', 'Elementen')}, ${size(bytes)}`,
  subscribed: (byOthers, toOthers) => `${number(byOthers)} von anderen, ${number(toOthers)} bei anderen`,
  redrive: 'Fehlgeschlagenes wiederholen',
  redriveText:
    'Aktualisierungen, Mitteilungen, Ereignisse, Webhooks und Alarme, die fehlgeschlagen sind, werden jetzt wiederholt.',
  redriveButton: 'Jetzt wiederholen',
  deliveries: 'Zustellung',
  deliveriesText:
    'Nur was fehlschlägt. Versuche wiederholen sich von selbst, bis eine Zustellung anhält; dann muss jemand sie wiederholen.',
  updates: 'Aktualisierungen an Abonnenten',
  noFailing: 'Alle Abonnenten bekommen ihre Aktualisierungen.',
  work: 'Arbeit im Hintergrund',
  noStopped: 'Keine Arbeit im Hintergrund hat angehalten.',
  moreFailing: 'Es gibt mehr Fehler, als diese Seite zeigt.',
  stopped: 'Angehalten',
  retrying: 'Wird wiederholt',
  kinds: { event: 'Ereignisse', webhook: 'Webhooks', alarm: 'Alarme', import: 'Importe', mail: 'Nachrichten' },
  programs: 'Verbundene Apps',
  noPrograms: 'Keine Apps verbunden.',
  programColumns: { program: 'App', connections: 'Verbindungen', lastUsed: 'Zuletzt verwendet' },
  suspended: 'Gesperrt',
  suspendedText: 'Jede Anfrage wird abgelehnt, und nur das Ende von Beziehungen wird gesendet. Die Daten bleiben.',
  suspend: 'Sperren',
  suspendText:
    'Die Person wird abgemeldet und kann sich nicht anmelden. Jede App, jeder Schlüssel und jeder Besuch bekommt 403, und Aktualisierungen an andere warten. Die Daten bleiben, und Sie können die Sperre jederzeit aufheben.',
  resume: 'Sperre aufheben',
  resumeText:
    'Die Person kann sich wieder anmelden, Apps und Schlüssel funktionieren wieder, und wartende Aktualisierungen werden gesendet.',
  signOutEverywhere: 'Auf allen Geräten abmelden',
  signOutEverywhereText:
    'Die Person meldet sich auf jedem Gerät neu an. Verbundene Apps und API-Schlüssel funktionieren weiter.',
  signInLink: 'Link zur Anmeldung erstellen',
  signInLinkText:
    'Für eine Person, die sich auf keinem Weg mehr anmelden kann. Der Link gilt einmal, eine Stunde lang, und beendet den vorigen. Wer ihn hat, kann alles tun, was die Person tun kann. Sie sieht in der Aktivität, dass Sie ihn erstellt haben, und bekommt eine Nachricht.',
  signInLinkMade: 'Link zur Anmeldung',
  signInLinkPass:
    'Geben Sie ihn nur der Person selbst, und prüfen Sie, wer sie ist. Er wird nicht noch einmal angezeigt.',
  resetLimits: 'Grenzwerte zurücksetzen',
  resetLimitsText:
    'Beendet, was fehlgeschlagene Anmeldungen und zu viele Anfragen über dieses Konto gezählt haben. Andere Prozesse bemerken es innerhalb von 30 Sekunden.',
  sender: 'IP-Adresse der Person (freiwillig)',
  senderText: 'Auch die Grenzwerte dieser Adresse enden, zum Beispiel 192.0.2.7.',
  senderInvalid: 'Geben Sie eine IP-Adresse ein, oder lassen Sie das Feld leer.',
  deleteAccount: 'Konto löschen',
  deleteAccountText:
    'Alle Daten, Beziehungen, Apps und Schlüssel werden gelöscht. Verbundene werden benachrichtigt. Nur eine Sicherung kann sie zurückbringen.',
  confirmation: (id) => html`Geben Sie zur Bestätigung <code class="inline">${id}</code> ein`,
  confirmationWrong: 'Das ist nicht die Kennung dieses Kontos.',
  ownerLinkTitle: 'Anmelden mit einem Link des Betriebs',
  ownerLinkText: (name) => html`Dieser Link meldet Sie einmal beim Konto <strong>${name}</strong> an.`,
  ownerLinkNext:
    'Fügen Sie danach einen Passkey oder einen anderen Weg zur Anmeldung hinzu. Ignorieren Sie den Link, wenn Sie nicht darum gebeten haben.',
  ownerLinkButton: 'Anmelden',
  ownerLinkEnded:
    'Dieser Link gilt nicht mehr: Er wurde verwendet, ein neuerer hat ihn ersetzt, oder er ist älter als eine Stunde. Bitten Sie den Betrieb dieses Dienstes um einen anderen.',
  team: 'Betrieb',
  teamText:
    'Wer diese Seiten öffnen darf. Jede Person ist durch eine Anmeldung benannt: eine bestätigte Adresse, eine Kennung bei einem Anbieter oder einen Passkey.',
  configuredTeam: 'Durch TROUPE_ADMINS festgelegt',
  addedBy: (by) =>
    by === 'link' ? 'über den Link beim Start' : by === 'command' ? 'auf der Kommandozeile' : `von ${by}`,
  addOperator: 'Person hinzufügen',
  operatorName: 'Bestätigte Adresse, Kennung beim Anbieter oder Fingerabdruck eines Passkeys',
  operatorNameText:
    'Zum Beispiel ada@example.com, google:1234 oder passkey:u3V…; die Seite der Passkeys zeigt den Fingerabdruck.',
  removeOperator: 'Entfernen',
  removeOperatorText: (name) => `${name} kann diese Seiten dann nicht mehr öffnen.`,
  lastOperator: 'Die letzte Person kann nicht entfernt werden. Fügen Sie zuerst eine andere hinzu.',
  begin: 'Den Betrieb übernehmen',
  beginText:
    'Dieser Dienst wird noch von keiner Person betrieben. Wer hier fortfährt, sieht, wie der Dienst läuft, und kann andere hinzufügen. Gespeicherte Werte bleiben verborgen.',
  beginSignIn:
    'Melden Sie sich als Nächstes an, oder erstellen Sie ein Konto. Der Link gilt einmal, innerhalb von 24 Stunden nach dem Start, der ihn ausgegeben hat.',
  beginContinue: 'Weiter zur Anmeldung',
  beginAs: (name) => `Sie sind als ${name} angemeldet. Diese Anmeldung öffnet dann die Seiten für den Betrieb.`,
  beginOther: 'Wenn eine andere Person den Dienst betreiben soll, muss sie sich vorher anmelden.',
  beginButton: 'Den Betrieb übernehmen',
  beginOtherLink: 'Neu anmelden',
  beginUnproven:
    'Diese Anmeldung weist nicht nach, wer Sie sind, weil Programme die Passphrase kennen können. Melden Sie sich auf andere Art an.',
  linkEnded:
    'Dieser Link gilt nicht mehr: Er wurde verwendet, ein späterer Start des Dienstes hat ihn ersetzt, oder er ist älter als 24 Stunden. Wenn noch niemand den Dienst betreibt, starten Sie ihn neu, und öffnen Sie den Link, den der Start ausgibt.',
}

const operator = (noun: Declined): Messages['operator'] => ({
  ...operatorPages,
  ownPages: `${noun.one} öffnen`,
  actors: noun.many,
  actorsText: 'Gespeicherte Werte erscheinen hier nie. Was Sie hier öffnen, steht in der Aktivität der Person.',
  noActors: 'Noch nichts vorhanden.',
  deliveryColumns: {
    actor: noun.one,
    peer: 'An',
    state: 'Zustand',
    since: 'Schlägt fehl seit',
    attempts: 'Versuche',
    reason: 'Grund',
    kind: 'Art',
  },
  programsText: `Programme, die für andere handeln. Jede Verbindung gehört zu genau einer Person.`,
})

const connectClient: Messages['connectClient'] = {
  title: 'Einen KI-Client verbinden',
  text: 'Der Client öffnet diesen Dienst im Browser. Dort melden Sie sich an und entscheiden, was er darf.',
  web: 'Claude und ChatGPT im Browser',
  webText:
    'Öffnen Sie die Einstellungen, dann die Connectors, und fügen Sie einen eigenen mit der URL des MCP-Servers oben hinzu.',
  claudeCode:
    'Führen Sie diesen Befehl aus. Geben Sie dann /mcp in einer Sitzung ein, wählen Sie diesen Dienst und Authenticate.',
  cursor: 'Schreiben Sie dies in .cursor/mcp.json, und wählen Sie Connect in den Einstellungen.',
  inspector:
    'Führen Sie diesen Befehl aus. Wählen Sie Streamable HTTP, geben Sie die URL des MCP-Servers ein und wählen Sie Connect.',
}

const newKey: Messages['newKey'] = {
  created: 'API-Schlüssel erstellt',
  createdText: (name) =>
    html`Kopieren Sie den Schlüssel von <strong>${name}</strong> jetzt. Er wird nicht noch einmal angezeigt, weil der Dienst nur seinen Hash speichert.`,
  key: 'Schlüssel',
  title: 'API-Schlüssel erstellen',
  text: 'Für ein Skript oder ein Gerät, das sich nicht anmelden kann. Der Schlüssel darf nur, was Sie hier wählen, bis Sie ihn widerrufen.',
  name: 'Bezeichnung',
  nameHint: 'Was den Schlüssel verwendet, zum Beispiel „Sensor in der Küche“.',
  properties: 'Eigenschaften',
  files: 'Dateien',
  reaches: { none: 'Kein Zugriff', view: 'Ansehen', edit: 'Ansehen und bearbeiten' },
  names: 'Nur diese Eigenschaften',
  namesHint: 'Ein Name pro Zeile; * steht für beliebige Zeichen. Leer: alle Eigenschaften.',
  runs: 'Alle Methoden, Aktionen und Tools der Anwendung ausführen',
  until: 'Letzter Tag',
  untilHint: 'Der Schlüssel endet, wenn dieser Tag endet (UTC). Leer: kein Ende.',
  create: 'Schlüssel erstellen',
  nameMissing: 'Geben Sie eine Bezeichnung für den Schlüssel ein.',
  rightsMissing: 'Wählen Sie mindestens ein Recht aus.',
  dayInvalid: 'Geben Sie den heutigen oder einen späteren Tag ein.',
  tooMany: 'Sie haben zu viele Schlüssel. Widerrufen Sie zuerst einen.',
  namesInvalid: (most, longest) =>
    `Geben Sie höchstens ${number(most)} Namen mit höchstens ${number(longest)} Zeichen ein.`,
}

const apps = (noun: Declined): Messages['apps'] => ({
  title: 'Verbundene Apps',
  text: `Apps mit Zugriff auf ${noun.ein('Ihr', 'accusative')} und die Geräte, auf denen Sie angemeldet sind. Das Trennen wirkt sofort.`,
  apps: 'Apps',
  passwordAccess: 'Programme mit Passwort',
  mcpUrl: 'URL des MCP-Servers',
  empty: 'Keine Apps verbunden.',
  emptyWithUrl: 'Keine Apps verbunden. Fügen Sie die URL oben bei Claude, ChatGPT oder einem anderen MCP-Client hinzu.',
  unknownOrigin: 'Herkunft unbekannt',
  isLocal: 'Läuft auf diesem Computer',
  returnsTo: (host) => html`Führt zurück zu <strong>${host}</strong>`,
  origin: (origin, connections) =>
    connections > 1 ? html`${origin} · ${count(connections, 'Verbindung', 'Verbindungen')}` : html`${origin}`,
  level: (level, until) =>
    until === null
      ? html`Zugriffsstufe: <strong>${level}</strong>`
      : html`Zugriffsstufe: <strong>${level}</strong>, bis ${until}`,
  paused: 'Pausiert. Kein Zugriff.',
  ends: (end) => html`Der Zugriff endet am ${end}.`,
  ended: (end) => html`Der Zugriff endete am ${end}.`,
  facts: (connected, lastUsed, hasAccess) =>
    html`Verbunden ${connected} · zuletzt verwendet ${lastUsed}${hasAccess ? '' : ' · Abgemeldet'}`,
  calls: (calls) => `${count(calls, 'Aufruf', 'Aufrufe')} in 7 Tagen`,
  pause: (name) => html`Pausieren<span class="unseen">: ${name}</span>`,
  resume: (name) => html`Fortsetzen<span class="unseen">: ${name}</span>`,
  cannotPause: 'Dieser Zugriff lässt sich nicht mehr pausieren oder fortsetzen. Prüfen Sie unten seinen Zustand.',
  disconnect: (name) => `${name} trennen`,
  manage: (name) => html`Zugriff verwalten<span class="unseen">: ${name}</span>`,
  notConnected: 'Diese App ist bereits getrennt.',
  keys: 'API-Schlüssel',
  noKeys: 'Keine API-Schlüssel.',
  keyFacts: (made, lastUsed, end) =>
    html`Erstellt ${made} · ${lastUsed === null ? 'nie verwendet' : html`zuletzt verwendet ${lastUsed}`}${end === null ? '' : html` · endet am ${end}`}`,
  revoke: (name) => `${name} widerrufen`,
  keyGone: 'Dieser Schlüssel ist bereits widerrufen.',
})

const devices: Messages['devices'] = {
  title: 'Geräte',
  isNew: 'Neu',
  thisDevice: 'Dieses Gerät',
  signOut: (device, how) => html`Abmelden<span class="unseen">: ${device}, ${how}</span>`,
  facts: (how, began, lastUsed) => html`${how} · angemeldet ${began} · zuletzt verwendet ${lastUsed}`,
  unknown: 'Unbekanntes Gerät',
  web: 'Browser',
  spa: 'Browser-Anwendung',
  mobile: 'Smartphone-App',
  native: 'Installierte App',
  passphrase: 'Passphrase',
  email: 'E-Mail',
  import: 'Importiert',
  host: 'Anwendung',
  operator: 'Link von einer Person, die den Dienst betreibt',
  signOutOthers: 'Andere Geräte abmelden …',
  signOutOthersText: (others) =>
    plural(others, {
      one: 'Ein anderes Gerät wird abgemeldet. Hier bleiben Sie angemeldet.',
      other: `${number(others)} andere Geräte werden abgemeldet. Hier bleiben Sie angemeldet.`,
    }),
  signOutOthersButton: 'Andere Geräte abmelden',
  alreadySignedOut: 'Dieses Gerät ist bereits abgemeldet.',
}

const reference: Messages['reference'] = {
  title: 'API-Referenz',
  text: (href) =>
    html`Alle Anfragen, die Programme senden können, mit Parametern und Antworten. Dasselbe im OpenAPI-Format: <a href="${href}">openapi.json</a>.`,
  parts: 'Teile der API',
  needsCredential: 'Braucht Zugangsdaten.',
  open: 'Braucht keine Zugangsdaten.',
  parameters: 'Parameter',
  places: { path: 'im Pfad', query: 'in der Abfrage', header: 'in einem Header' },
  required: 'erforderlich',
  body: (type) => `Inhalt (${type})`,
  responses: 'Antworten',
}

const activity: Messages['activity'] = {
  title: 'Aktivität',
  text: 'Was Personen und Apps mit Ihren Daten getan haben und wie Sie über den Zugriff darauf entschieden oder ihn geändert haben. Werte werden nie aufgezeichnet.',
  off: 'Die Aktivität ist für diesen Dienst ausgeschaltet.',
  empty: 'Noch keine Aktivität.',
  noOlder: 'Keine ältere Aktivität.',
  newest: 'Neueste',
  older: 'Ältere',
  filter: 'Person oder App',
  everyone: 'Alle',
  you: 'Sie',
  details: 'Einzelheiten',
  filterTitle: 'Filtern',
  outcome: 'Ergebnis',
  anyOutcome: 'Jedes Ergebnis',
  outcomes: { allowed: 'Erlaubt', asked: 'Brauchte Ihre Genehmigung', denied: 'Abgelehnt' },
  about: 'Worum es ging',
  everything: 'Alles',
  kinds: {
    properties: 'Eigenschaften',
    files: 'Dateien',
    operations: 'Aktionen und Werkzeuge',
    connections: 'Verbindungen',
    updates: 'Aktualisierungen',
    other: 'Anderes',
  },
  property: 'Eigenschaft',
  from: 'Von',
  to: 'Bis',
  showAll: 'Alle zeigen',
  noMatch: 'Kein Eintrag passt.',
  exportAs: (format) => `Als ${format} exportieren`,
  apply: 'Anwenden',
  filterBy: (name) => html`Filtern<span class="unseen">: ${name}</span>`,
  did: (who, what) => html`${who} ${what}`,
  denied: (who, what) => html`${who}: <strong class="no">abgelehnt</strong>: ${what}`,
  times: (times) => `${number(times)}-mal`,
  trustee: 'Treuhänder',
  unknown: 'Unbekannter Besucher',
  operator: (name) => `Betreiber ${name}`,
  unknownAt: (address) => `Unbekannter Besucher (${address})`,
  requestedApproval: (what) => `hat um Ihre Genehmigung gebeten: ${what}`,
  gotApproval: (what) => `hat Ihre Genehmigung erhalten: ${what}`,
  gotNoApproval: (what) => `hat Ihre Genehmigung nicht erhalten: ${what}`,
}

const ownActs: Messages['ownActs'] = {
  other: (request) => `haben ${request} gesendet`,
  signIn: 'haben sich angemeldet',
  signOut: 'haben sich abgemeldet',
  signOutOthers: 'haben alle anderen Geräte abgemeldet',
  connect: (name) => `haben ${name} verbunden`,
  disconnect: (name) => `haben ${name} getrennt`,
  exportData: 'haben Ihre Daten exportiert',
  importData: 'haben ein Archiv importiert',
  beginMove: 'haben einen Umzug zu einem anderen Dienst gestartet',
  stopMove: 'haben den Umzug zu einem anderen Dienst abgebrochen',
  createKey: 'haben einen API-Schlüssel erstellt',
  changeKey: 'haben einen API-Schlüssel geändert',
  revokeKey: 'haben einen API-Schlüssel widerrufen',
  invite: 'haben eine Einladung erstellt',
  revokeInvitation: 'haben eine Einladung widerrufen',
  requestConnection: 'haben um eine Verbindung gebeten',
  changeConnection: (name) => `haben die Verbindung mit ${name} geändert`,
  changeAccess: (name) => `haben den Zugriff von ${name} geändert`,
  resetAccess: (name) => `haben den Zugriff von ${name} zurückgesetzt`,
  changeTrustee: 'haben den Treuhänder geändert',
  decideProgram: 'haben über ein Programm mit Passwort entschieden',
  addPasskey: 'haben einen Passkey hinzugefügt',
  removePasskey: 'haben einen Passkey entfernt',
  createCodes: 'haben Wiederherstellungscodes erstellt',
  useCode: 'haben einen Wiederherstellungscode benutzt',
  addWebhook: 'haben einen Webhook hinzugefügt',
  removeWebhook: 'haben einen Webhook entfernt',
  newWebhookSecret: 'haben das Geheimnis eines Webhooks geändert',
  inviteMember: 'haben ein Mitglied eingeladen',
  changeRole: 'haben die Rolle eines Mitglieds geändert',
  removeMember: 'haben ein Mitglied entfernt',
}

const didActs: Messages['didActs'] = {
  callTool: (name) => `hat das Tool ${quote(name)} verwendet`,
  usePrompt: (name) => `hat den Prompt ${quote(name)} verwendet`,
  viewResource: (name) => `hat ${quote(name)} angesehen`,
  mcpRequest: (name) => `hat ${name} gesendet`,
  openAddress: (name) => `hat ${quote(name)} geöffnet`,
  openAccount: 'hat Ihre Adresse geöffnet',
  viewFacts: 'hat angesehen, wie viel Sie speichern, ohne die Werte',
  redrive: 'hat wiederholt, was fehlgeschlagen war',
  changeOperators: 'hat geändert, wer diesen Dienst betreibt',
  suspend: 'hat dieses Konto gesperrt',
  resume: 'hat die Sperre dieses Kontos aufgehoben',
  signOutEverywhere: 'hat Sie auf allen Geräten abgemeldet',
  makeSignInLink: 'hat einen Link erstellt, der einmal bei Ihrem Konto anmeldet',
  resetLimits: 'hat die Grenzwerte Ihres Kontos zurückgesetzt',
  deleteAccount: 'hat ein Konto gelöscht',
  listActions: 'hat die Aktionen aufgelistet',
  runAction: (name) => `hat die Aktion ${quote(name)} ausgeführt`,
  listFiles: 'hat die Dateien aufgelistet',
  viewFile: (name) => `hat die Datei ${quote(name)} angesehen`,
  editFile: (name) => `hat die Datei ${quote(name)} geändert`,
  deleteFile: (name) => `hat die Datei ${quote(name)} gelöscht`,
  viewProfile: 'hat Ihr öffentliches Profil angesehen',
  listMethods: 'hat die Methoden aufgelistet',
  callMethod: (name) => `hat die Methode ${quote(name)} aufgerufen`,
  callAnyMethod: 'hat eine Methode aufgerufen',
  viewAccess: 'hat den eigenen Zugriff angesehen',
  listProperties: 'hat die Eigenschaften aufgelistet',
  editProperties: 'hat Eigenschaften geändert',
  deleteProperties: 'hat alle Eigenschaften gelöscht',
  receiveProperties: 'hat Änderungen von Eigenschaften erhalten',
  receiveProperty: (name) => `hat eine Änderung der Eigenschaft ${quote(name)} erhalten`,
  viewProperty: (name) => `hat die Eigenschaft ${quote(name)} angesehen`,
  editProperty: (name) => `hat die Eigenschaft ${quote(name)} geändert`,
  deleteProperty: (name) => `hat die Eigenschaft ${quote(name)} gelöscht`,
  viewOperation: (name) => `hat die Ressource ${quote(name)} angesehen`,
  editOperation: (name) => `hat die Ressource ${quote(name)} geändert`,
  deleteOperation: (name) => `hat die Ressource ${quote(name)} gelöscht`,
  subscribe: 'hat abonniert',
  unsubscribe: 'hat das Abonnement beendet',
  confirmUpdates: 'hat Aktualisierungen bestätigt',
  requestUpdates: 'hat Aktualisierungen erneut angefordert',
  fetchUpdates: 'hat Aktualisierungen abgerufen',
  viewSubscriptions: 'hat die eigenen Abonnements angesehen',
  endYours: 'hat Ihr Abonnement beendet',
  sendUpdate: 'hat eine Aktualisierung gesendet',
  sendAccess: 'hat mitgeteilt, worauf Sie Zugriff haben',
  callCallback: (name) => `hat den Callback ${quote(name)} aufgerufen`,
  accept: 'hat die Verbindung angenommen',
  connect: 'hat sich verbunden',
  requestConnection: 'hat eine Verbindung angefragt',
  endConnection: 'hat die Verbindung beendet',
  editConnection: 'hat die Verbindung geändert',
  viewConnection: 'hat die Verbindung angesehen',
}

const toActs: Messages['toActs'] = {
  callTool: (name) => `Tool ${quote(name)} verwenden`,
  usePrompt: (name) => `Prompt ${quote(name)} verwenden`,
  viewResource: (name) => `${quote(name)} ansehen`,
  mcpRequest: (name) => `${name} senden`,
  openAddress: (name) => `${quote(name)} öffnen`,
  openAccount: 'Ihre Adresse öffnen',
  viewFacts: 'ansehen, wie viel Sie speichern',
  redrive: 'wiederholen, was fehlgeschlagen war',
  changeOperators: 'ändern, wer diesen Dienst betreibt',
  suspend: 'dieses Konto sperren',
  resume: 'die Sperre dieses Kontos aufheben',
  signOutEverywhere: 'Sie auf allen Geräten abmelden',
  makeSignInLink: 'einen Link erstellen, der einmal bei Ihrem Konto anmeldet',
  resetLimits: 'die Grenzwerte Ihres Kontos zurücksetzen',
  deleteAccount: 'ein Konto löschen',
  listActions: 'Aktionen auflisten',
  runAction: (name) => `Aktion ${quote(name)} ausführen`,
  listFiles: 'Dateien auflisten',
  viewFile: (name) => `Datei ${quote(name)} ansehen`,
  editFile: (name) => `Datei ${quote(name)} ändern`,
  deleteFile: (name) => `Datei ${quote(name)} löschen`,
  viewProfile: 'Ihr öffentliches Profil ansehen',
  listMethods: 'Methoden auflisten',
  callMethod: (name) => `Methode ${quote(name)} aufrufen`,
  callAnyMethod: 'eine Methode aufrufen',
  viewAccess: 'den eigenen Zugriff ansehen',
  listProperties: 'Eigenschaften auflisten',
  editProperties: 'Eigenschaften ändern',
  deleteProperties: 'alle Eigenschaften löschen',
  receiveProperties: 'Änderungen von Eigenschaften erhalten',
  receiveProperty: (name) => `eine Änderung der Eigenschaft ${quote(name)} erhalten`,
  viewProperty: (name) => `Eigenschaft ${quote(name)} ansehen`,
  editProperty: (name) => `Eigenschaft ${quote(name)} ändern`,
  deleteProperty: (name) => `Eigenschaft ${quote(name)} löschen`,
  viewOperation: (name) => `Ressource ${quote(name)} ansehen`,
  editOperation: (name) => `Ressource ${quote(name)} ändern`,
  deleteOperation: (name) => `Ressource ${quote(name)} löschen`,
  subscribe: 'abonnieren',
  unsubscribe: 'Abonnement beenden',
  confirmUpdates: 'Aktualisierungen bestätigen',
  requestUpdates: 'Aktualisierungen erneut anfordern',
  fetchUpdates: 'Aktualisierungen abrufen',
  viewSubscriptions: 'die eigenen Abonnements ansehen',
  endYours: 'Ihr Abonnement beenden',
  sendUpdate: 'eine Aktualisierung senden',
  sendAccess: 'mitteilen, worauf Sie Zugriff haben',
  callCallback: (name) => `Callback ${quote(name)} aufrufen`,
  accept: 'die Verbindung annehmen',
  connect: 'sich verbinden',
  requestConnection: 'eine Verbindung anfragen',
  endConnection: 'die Verbindung beenden',
  editConnection: 'die Verbindung ändern',
  viewConnection: 'die Verbindung ansehen',
}

const activityReasons: Messages['activityReasons'] = {
  ownPath: 'eigene Daten',
  operates: 'betreibt diesen Dienst',
  owns: 'als Inhaber',
  subscription: 'hat abonniert',
  public: 'öffentlich',
  askedToSignIn: 'zur Anmeldung aufgefordert',
  needsApproval: 'braucht Ihre Genehmigung',
  approvedByYou: 'von Ihnen genehmigt',
  deniedByYou: 'von Ihnen abgelehnt',
  notApproved: 'die Verbindung ist nicht genehmigt',
  allowedBy: (level, pattern) => `erlaubt durch ${level}: ${pattern}`,
}

/** The messages without the noun for an actor. */
const plain = {
  frame,
  navigation,
  errors,
  live,
  forms,
  time,
  accessMap,
  signInErrors,
  signInRefusals,
  testUsers,
  requests,
  approvals,
  calls,
  values,
  types,
  properties,
  list,
  history,
  conflict,
  subjects,
  verbs,
  noAccess,
  reached,
  standing,
  listing,
  peerErrors,
  ends,
  check,
  accessTable,
  checkOptions,
  missing,
  editAccess,
  endings,
  viewAs,
  subscriptions,
  subscription,
  devices,
  reference,
  activity,
  didActs,
  ownActs,
  emailLink,
  mail,
  device,
  toActs,
  activityReasons,
  restored,
  quotas,
}

/** All messages. @param given The noun for an actor. */
function messages(given: GermanNoun): Messages {
  const noun = new Declined(given)
  return {
    ...plain,
    notices: notices(noun),
    failed: failed(noun),
    front: front(noun),
    created: created(noun),
    home: home(noun),
    firstSteps: firstSteps(noun),
    signIn: signIn(noun),
    consent: consent(noun),
    settings: settings(noun),
    passkeys: passkeys(noun),
    freshSignIn: freshSignIn(noun),
    passwordAccess: passwordAccess(noun),
    files: files(noun),
    imports: imports(noun),
    moving: moving(noun),
    arrival: arrival(noun),
    rights: rights(noun),
    review: review(noun),
    connections: connections(noun),
    request: request(noun),
    peer: peer(noun),
    invite: invite(noun),
    invited: invited(noun),
    membership: membership(noun),
    because: because(noun),
    toChange: toChange(noun),
    newKey,
    connectClient,
    operator: operator(noun),
    apps: apps(noun),
  }
}

const account: GermanNoun = { gender: 'neuter', one: 'Konto', genitive: 'Kontos', many: 'Konten' }

export const german = { noun: account, messages }
