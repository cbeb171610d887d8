// A client of another make (npm rhea) that talks to the broker: says as one JSON document what it saw.
//
//     node rhea_client.js PATH_OF_RHEA PORT KEY_NAME KEY

"use strict";

const [rheaPath, port, keyName, key] = process.argv.slice(2);
const rhea = require(rheaPath);
const seen = {};

function connect(container, password) {
  return container.connect({
    host: "127.0.0.1",
    port: Number(port),
    username: keyName,
    password,
    max_frame_size: 1024,
    idle_time_out: 5000,
    reconnect: false,
  });
}

// Sends messages, and is done when each has its outcome.
function send(connection, address, messages) {
  return new Promise((resolve) => {
    const outcomes = [];
    const sender = connection.open_sender(address);
    const note = (outcome) => () => {
      outcomes.push(outcome);
      if (outcomes.length === messages.length) {
        sender.close();
        resolve(outcomes);
      }
    };
    sender.on("accepted", note("accepted"));
    sender.on("rejected", note("rejected"));
    sender.on("sender_error", () => resolve([sender.error.condition]));
    sender.once("sendable", () => messages.forEach((message) => sender.send(message)));
  });
}

// Receives so many messages, giving credit for one at a time (rhea tells two outcomes at once as if they were the same), and
// settles each as `settle` says.
function receive(connection, source, count, settle) {
  return new Promise((resolve) => {
    const bodies = [];
    const receiver = connection.open_receiver({ source, credit_window: 0, autoaccept: false });
    receiver.on("receiver_open", () => receiver.add_credit(1));
    receiver.on("receiver_error", () => resolve([receiver.error.condition]));
    receiver.on("message", (context) => {
      bodies.push(context.message.body.content ? context.message.body.content.toString() : context.message.body);
      settle(context.delivery, bodies.length);
      if (receiver.credit === 0) receiver.add_credit(1);
      if (bodies.length === count) {
        receiver.close();
        resolve(bodies);
      }
    });
  });
}

function ask(connection, application_properties) {
  return new Promise((resolve) => {
    const receiver = connection.open_receiver({ source: "$management", target: "answers" });
    const sender = connection.open_sender("$management");
    receiver.on("message", (context) => resolve(context.message));
    sender.once("sendable", () =>
      sender.send({ message_id: "question", reply_to: "answers", application_properties, body: null }),
    );
  });
}

function refusal(password) {
  return new Promise((resolve) => {
    const container = rhea.create_container();
    const note = (name) => (context) => resolve([name, context.connection.error ? context.connection.error.condition : ""]);
    container.on("connection_error", note("connection_error"));
    container.on("connection_open", note("connection_open"));
    container.on("disconnected", note("disconnected"));
    connect(container, password);
  });
}

async function main() {
  const container = rhea.create_container();
  container.on("error", (error) => {
    seen.error = String(error);
  });
  const connection = connect(container, key);
  const data = (text) => ({ body: rhea.message.data_section(Buffer.from(text)) });
  const accept = (delivery) => delivery.accept();
  const large = "x".repeat(200000);

  seen.sent = await send(connection, "hub/Partitions/1", ["a", "b", "c", "d", large].map(data));
  const partition = "hub/ConsumerGroups/$Default/Partitions/1";
  const selector = (text) => ({ address: partition, filter: rhea.filter.selector(text) });
  seen.all = (await receive(connection, partition, 5, accept)).map((body) => body.length > 9 ? body.length : body);
  seen.later = await receive(connection, selector("amqp.annotation.x-opt-sequence-number > '1'"), 2, accept);
  seen.queued = await send(connection, "jobs", [1, 2, 3].map((number) => ({ body: `job ${number}`, message_id: `${number}` })));
  // The second is given back once, so it comes again.
  const settle = (delivery, number) => (number === 2 ? delivery.release() : delivery.accept());
  seen.worked = await receive(connection, "jobs", 4, settle);
  seen.missing = await send(connection, "nobody", [data("x")]);
  const answer = await ask(connection, { operation: "READ", type: "com.microsoft:eventhub", name: "hub" });
  seen.answer = [answer.correlation_id, answer.application_properties["status-code"], answer.body.partition_ids];
  seen.refused = await refusal("wrong");
  connection.on("connection_close", () => {
    seen.closed = true;
    console.log(JSON.stringify(seen));
    process.exit(0);
  });
  connection.close();
}

main();
