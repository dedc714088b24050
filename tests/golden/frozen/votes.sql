PRAGMA application_id = 1751215212;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE answer (
    judge INTEGER NOT NULL, question INTEGER NOT NULL, text INTEGER NOT NULL,
    answer INTEGER NOT NULL CHECK (answer IN (0, 1, 2)),
    PRIMARY KEY (judge, question, text)
) WITHOUT ROWID;
INSERT INTO "answer" VALUES(1,1,1,1);
INSERT INTO "answer" VALUES(1,1,2,1);
INSERT INTO "answer" VALUES(1,2,1,1);
INSERT INTO "answer" VALUES(1,2,2,1);
INSERT INTO "answer" VALUES(1,3,1,1);
INSERT INTO "answer" VALUES(1,3,2,1);
INSERT INTO "answer" VALUES(1,4,1,1);
INSERT INTO "answer" VALUES(1,4,2,1);
INSERT INTO "answer" VALUES(1,5,1,1);
INSERT INTO "answer" VALUES(1,5,2,1);
INSERT INTO "answer" VALUES(1,6,1,1);
INSERT INTO "answer" VALUES(1,6,2,1);
INSERT INTO "answer" VALUES(1,7,1,1);
INSERT INTO "answer" VALUES(1,7,2,1);
INSERT INTO "answer" VALUES(1,8,1,1);
INSERT INTO "answer" VALUES(1,8,2,1);
INSERT INTO "answer" VALUES(1,9,1,1);
INSERT INTO "answer" VALUES(1,9,2,1);
INSERT INTO "answer" VALUES(1,10,1,1);
INSERT INTO "answer" VALUES(1,10,2,1);
INSERT INTO "answer" VALUES(1,11,1,1);
INSERT INTO "answer" VALUES(1,11,2,1);
INSERT INTO "answer" VALUES(1,12,1,1);
INSERT INTO "answer" VALUES(1,12,2,1);
INSERT INTO "answer" VALUES(1,13,1,1);
INSERT INTO "answer" VALUES(1,13,2,1);
INSERT INTO "answer" VALUES(1,14,1,1);
INSERT INTO "answer" VALUES(1,14,2,1);
INSERT INTO "answer" VALUES(1,15,1,1);
INSERT INTO "answer" VALUES(1,15,2,1);
INSERT INTO "answer" VALUES(1,16,1,1);
INSERT INTO "answer" VALUES(1,16,2,1);
INSERT INTO "answer" VALUES(1,17,1,1);
INSERT INTO "answer" VALUES(1,17,2,1);
INSERT INTO "answer" VALUES(1,18,1,1);
INSERT INTO "answer" VALUES(1,18,2,1);
INSERT INTO "answer" VALUES(1,19,1,1);
INSERT INTO "answer" VALUES(1,19,2,1);
INSERT INTO "answer" VALUES(1,20,1,1);
INSERT INTO "answer" VALUES(1,20,2,1);
INSERT INTO "answer" VALUES(1,21,1,1);
INSERT INTO "answer" VALUES(1,21,2,1);
INSERT INTO "answer" VALUES(1,22,1,1);
INSERT INTO "answer" VALUES(1,22,2,1);
INSERT INTO "answer" VALUES(1,23,1,1);
INSERT INTO "answer" VALUES(1,23,2,1);
INSERT INTO "answer" VALUES(1,24,1,1);
INSERT INTO "answer" VALUES(1,24,2,1);
INSERT INTO "answer" VALUES(1,25,1,1);
INSERT INTO "answer" VALUES(1,25,2,1);
INSERT INTO "answer" VALUES(1,26,1,1);
INSERT INTO "answer" VALUES(1,26,2,1);
INSERT INTO "answer" VALUES(1,27,1,1);
INSERT INTO "answer" VALUES(1,27,2,1);
INSERT INTO "answer" VALUES(1,28,1,1);
INSERT INTO "answer" VALUES(1,28,2,1);
INSERT INTO "answer" VALUES(1,29,1,1);
INSERT INTO "answer" VALUES(1,29,2,1);
INSERT INTO "answer" VALUES(1,30,1,1);
INSERT INTO "answer" VALUES(1,30,2,1);
INSERT INTO "answer" VALUES(1,31,1,1);
INSERT INTO "answer" VALUES(1,31,2,1);
INSERT INTO "answer" VALUES(1,32,1,1);
INSERT INTO "answer" VALUES(1,32,2,1);
INSERT INTO "answer" VALUES(1,33,1,1);
INSERT INTO "answer" VALUES(1,33,2,1);
INSERT INTO "answer" VALUES(1,34,1,1);
INSERT INTO "answer" VALUES(1,34,2,1);
INSERT INTO "answer" VALUES(1,35,1,1);
INSERT INTO "answer" VALUES(1,35,2,1);
INSERT INTO "answer" VALUES(1,36,1,1);
INSERT INTO "answer" VALUES(1,36,2,1);
INSERT INTO "answer" VALUES(1,37,1,1);
INSERT INTO "answer" VALUES(1,37,2,1);
INSERT INTO "answer" VALUES(1,38,1,1);
INSERT INTO "answer" VALUES(1,38,2,1);
INSERT INTO "answer" VALUES(1,39,1,1);
INSERT INTO "answer" VALUES(1,39,2,1);
INSERT INTO "answer" VALUES(1,40,1,1);
INSERT INTO "answer" VALUES(1,40,2,1);
INSERT INTO "answer" VALUES(1,41,1,1);
INSERT INTO "answer" VALUES(1,41,2,1);
INSERT INTO "answer" VALUES(1,42,1,1);
INSERT INTO "answer" VALUES(1,42,2,1);
INSERT INTO "answer" VALUES(1,43,1,1);
INSERT INTO "answer" VALUES(1,43,2,1);
INSERT INTO "answer" VALUES(1,44,1,1);
INSERT INTO "answer" VALUES(1,44,2,1);
INSERT INTO "answer" VALUES(1,45,1,1);
INSERT INTO "answer" VALUES(1,45,2,1);
INSERT INTO "answer" VALUES(1,46,1,1);
INSERT INTO "answer" VALUES(1,46,2,1);
INSERT INTO "answer" VALUES(1,47,1,1);
INSERT INTO "answer" VALUES(1,47,2,1);
INSERT INTO "answer" VALUES(1,48,1,1);
INSERT INTO "answer" VALUES(1,48,2,1);
INSERT INTO "answer" VALUES(1,49,1,1);
INSERT INTO "answer" VALUES(1,49,2,1);
INSERT INTO "answer" VALUES(1,50,1,1);
INSERT INTO "answer" VALUES(1,50,2,1);
INSERT INTO "answer" VALUES(1,51,1,1);
INSERT INTO "answer" VALUES(1,51,2,1);
INSERT INTO "answer" VALUES(1,52,1,1);
INSERT INTO "answer" VALUES(1,52,2,1);
INSERT INTO "answer" VALUES(1,53,1,1);
INSERT INTO "answer" VALUES(1,53,2,1);
INSERT INTO "answer" VALUES(1,54,1,1);
INSERT INTO "answer" VALUES(1,54,2,1);
INSERT INTO "answer" VALUES(1,55,1,1);
INSERT INTO "answer" VALUES(1,55,2,1);
INSERT INTO "answer" VALUES(1,56,1,1);
INSERT INTO "answer" VALUES(1,56,2,1);
INSERT INTO "answer" VALUES(1,57,1,1);
INSERT INTO "answer" VALUES(1,57,2,1);
INSERT INTO "answer" VALUES(1,58,1,1);
INSERT INTO "answer" VALUES(1,58,2,1);
INSERT INTO "answer" VALUES(1,59,1,1);
INSERT INTO "answer" VALUES(1,59,2,1);
INSERT INTO "answer" VALUES(1,60,1,1);
INSERT INTO "answer" VALUES(1,60,2,1);
INSERT INTO "answer" VALUES(1,61,1,1);
INSERT INTO "answer" VALUES(1,61,2,1);
INSERT INTO "answer" VALUES(1,62,1,1);
INSERT INTO "answer" VALUES(1,62,2,1);
INSERT INTO "answer" VALUES(1,63,1,1);
INSERT INTO "answer" VALUES(1,63,2,1);
INSERT INTO "answer" VALUES(1,64,1,1);
INSERT INTO "answer" VALUES(1,64,2,1);
INSERT INTO "answer" VALUES(1,65,1,1);
INSERT INTO "answer" VALUES(1,65,2,1);
INSERT INTO "answer" VALUES(1,66,1,1);
INSERT INTO "answer" VALUES(1,66,2,1);
INSERT INTO "answer" VALUES(1,67,1,1);
INSERT INTO "answer" VALUES(1,67,2,1);
INSERT INTO "answer" VALUES(1,68,1,1);
INSERT INTO "answer" VALUES(1,68,2,1);
INSERT INTO "answer" VALUES(1,69,1,1);
INSERT INTO "answer" VALUES(1,69,2,1);
INSERT INTO "answer" VALUES(1,70,1,1);
INSERT INTO "answer" VALUES(1,70,2,1);
INSERT INTO "answer" VALUES(1,71,1,1);
INSERT INTO "answer" VALUES(1,71,2,1);
INSERT INTO "answer" VALUES(1,72,1,1);
INSERT INTO "answer" VALUES(1,72,2,1);
INSERT INTO "answer" VALUES(1,73,1,1);
INSERT INTO "answer" VALUES(1,73,2,1);
INSERT INTO "answer" VALUES(1,74,1,1);
INSERT INTO "answer" VALUES(1,74,2,1);
INSERT INTO "answer" VALUES(1,75,1,1);
INSERT INTO "answer" VALUES(1,75,2,1);
INSERT INTO "answer" VALUES(1,76,1,1);
INSERT INTO "answer" VALUES(1,76,2,1);
INSERT INTO "answer" VALUES(1,77,1,1);
INSERT INTO "answer" VALUES(1,77,2,1);
INSERT INTO "answer" VALUES(1,78,1,1);
INSERT INTO "answer" VALUES(1,78,2,1);
INSERT INTO "answer" VALUES(1,79,1,1);
INSERT INTO "answer" VALUES(1,79,2,1);
INSERT INTO "answer" VALUES(1,80,1,1);
INSERT INTO "answer" VALUES(1,80,2,1);
CREATE TABLE judge (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
INSERT INTO "judge" VALUES(1,'checkpoint@f77d60e6c444:float32:whole');
CREATE TABLE question (id INTEGER PRIMARY KEY, frame TEXT NOT NULL, question TEXT NOT NULL, UNIQUE (frame, question));
INSERT INTO "question" VALUES(1,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a person in this image?');
INSERT INTO "question" VALUES(2,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bicycle in this image?');
INSERT INTO "question" VALUES(3,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a car in this image?');
INSERT INTO "question" VALUES(4,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a motorcycle in this image?');
INSERT INTO "question" VALUES(5,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there an airplane in this image?');
INSERT INTO "question" VALUES(6,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bus in this image?');
INSERT INTO "question" VALUES(7,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a train in this image?');
INSERT INTO "question" VALUES(8,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a truck in this image?');
INSERT INTO "question" VALUES(9,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a boat in this image?');
INSERT INTO "question" VALUES(10,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a traffic light in this image?');
INSERT INTO "question" VALUES(11,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a fire hydrant in this image?');
INSERT INTO "question" VALUES(12,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a stop sign in this image?');
INSERT INTO "question" VALUES(13,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a parking meter in this image?');
INSERT INTO "question" VALUES(14,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bench in this image?');
INSERT INTO "question" VALUES(15,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bird in this image?');
INSERT INTO "question" VALUES(16,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a cat in this image?');
INSERT INTO "question" VALUES(17,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a dog in this image?');
INSERT INTO "question" VALUES(18,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a horse in this image?');
INSERT INTO "question" VALUES(19,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a sheep in this image?');
INSERT INTO "question" VALUES(20,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a cow in this image?');
INSERT INTO "question" VALUES(21,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there an elephant in this image?');
INSERT INTO "question" VALUES(22,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bear in this image?');
INSERT INTO "question" VALUES(23,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a zebra in this image?');
INSERT INTO "question" VALUES(24,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a giraffe in this image?');
INSERT INTO "question" VALUES(25,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a backpack in this image?');
INSERT INTO "question" VALUES(26,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there an umbrella in this image?');
INSERT INTO "question" VALUES(27,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a handbag in this image?');
INSERT INTO "question" VALUES(28,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a tie in this image?');
INSERT INTO "question" VALUES(29,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a suitcase in this image?');
INSERT INTO "question" VALUES(30,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a frisbee in this image?');
INSERT INTO "question" VALUES(31,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there skis in this image?');
INSERT INTO "question" VALUES(32,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a snowboard in this image?');
INSERT INTO "question" VALUES(33,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a sports ball in this image?');
INSERT INTO "question" VALUES(34,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a kite in this image?');
INSERT INTO "question" VALUES(35,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a baseball bat in this image?');
INSERT INTO "question" VALUES(36,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a baseball glove in this image?');
INSERT INTO "question" VALUES(37,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a skateboard in this image?');
INSERT INTO "question" VALUES(38,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a surfboard in this image?');
INSERT INTO "question" VALUES(39,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a tennis racket in this image?');
INSERT INTO "question" VALUES(40,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bottle in this image?');
INSERT INTO "question" VALUES(41,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a wine glass in this image?');
INSERT INTO "question" VALUES(42,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a cup in this image?');
INSERT INTO "question" VALUES(43,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a fork in this image?');
INSERT INTO "question" VALUES(44,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a knife in this image?');
INSERT INTO "question" VALUES(45,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a spoon in this image?');
INSERT INTO "question" VALUES(46,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bowl in this image?');
INSERT INTO "question" VALUES(47,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a banana in this image?');
INSERT INTO "question" VALUES(48,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there an apple in this image?');
INSERT INTO "question" VALUES(49,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a sandwich in this image?');
INSERT INTO "question" VALUES(50,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there an orange in this image?');
INSERT INTO "question" VALUES(51,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a broccoli in this image?');
INSERT INTO "question" VALUES(52,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a carrot in this image?');
INSERT INTO "question" VALUES(53,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a hot dog in this image?');
INSERT INTO "question" VALUES(54,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a pizza in this image?');
INSERT INTO "question" VALUES(55,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a donut in this image?');
INSERT INTO "question" VALUES(56,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a cake in this image?');
INSERT INTO "question" VALUES(57,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a chair in this image?');
INSERT INTO "question" VALUES(58,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a couch in this image?');
INSERT INTO "question" VALUES(59,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a potted plant in this image?');
INSERT INTO "question" VALUES(60,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a bed in this image?');
INSERT INTO "question" VALUES(61,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a dining table in this image?');
INSERT INTO "question" VALUES(62,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a toilet in this image?');
INSERT INTO "question" VALUES(63,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a tv in this image?');
INSERT INTO "question" VALUES(64,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a laptop in this image?');
INSERT INTO "question" VALUES(65,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a mouse in this image?');
INSERT INTO "question" VALUES(66,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a remote in this image?');
INSERT INTO "question" VALUES(67,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a keyboard in this image?');
INSERT INTO "question" VALUES(68,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a cell phone in this image?');
INSERT INTO "question" VALUES(69,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a microwave in this image?');
INSERT INTO "question" VALUES(70,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there an oven in this image?');
INSERT INTO "question" VALUES(71,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a toaster in this image?');
INSERT INTO "question" VALUES(72,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a sink in this image?');
INSERT INTO "question" VALUES(73,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a refrigerator in this image?');
INSERT INTO "question" VALUES(74,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a book in this image?');
INSERT INTO "question" VALUES(75,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a clock in this image?');
INSERT INTO "question" VALUES(76,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a vase in this image?');
INSERT INTO "question" VALUES(77,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there scissors in this image?');
INSERT INTO "question" VALUES(78,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a teddy bear in this image?');
INSERT INTO "question" VALUES(79,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a hair drier in this image?');
INSERT INTO "question" VALUES(80,'Text: {response}

Read the text about an image and answer the question.

Question: Please answer yes or no. {question}','Is there a toothbrush in this image?');
CREATE TABLE reply (
    judge INTEGER NOT NULL, prompt BLOB NOT NULL, repeat INTEGER NOT NULL,
    reply BLOB NOT NULL,
    PRIMARY KEY (judge, prompt, repeat)
);
CREATE TABLE text (id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE);
INSERT INTO "text" VALUES(1,X'11B89429B41178B33EDE7050AA8EE166AAD8EA54F89F7A84AA37B9542DC5E8CA');
INSERT INTO "text" VALUES(2,X'71E3414B8B12149D86FCDD6EB18EBB208F62C59CE90A28819C65C067D564DFE5');
COMMIT;
